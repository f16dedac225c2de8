"""What several operations take: names, reasons, spans of time, places in a list."""

from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from holdfast.interfaces.http.operation import Body


def _integral(value: object) -> object:
    """JSON knows no integers: 3.0 is the number 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _seconds(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


# How long something is, as it is answered.
Length: TypeAlias = Annotated[float, Field(description="Seconds"), BeforeValidator(_seconds)]
# The last of the three, so that the bounds stand in the description.
INTEGRAL = BeforeValidator(_integral)
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Reason: TypeAlias = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=31_536_000)]
Priority: TypeAlias = Annotated[int, Field(ge=-100, le=100), INTEGRAL]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=200)]


class ReasonBody(Body):
    """Why something is done, for whoever reads the audit."""

    reason: Reason | None = None


class PauseBody(ReasonBody):
    """A pause, which may end by itself."""

    resume_in: Seconds | None = None
