"""Which part of time charts show, in spans so wide that there are never too many of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlencode

from pydantic import Field

from holdfast.interfaces.http.dashboard.page import Asked

Window: TypeAlias = Literal["1h", "24h", "7d"]
WINDOWS: Mapping[Window, tuple[str, timedelta]] = {
    "1h": ("hour", timedelta(hours=1)),
    "24h": ("24 hours", timedelta(days=1)),
    "7d": ("7 days", timedelta(days=7)),
}
MINUTE = timedelta(minutes=1)
LONGEST = timedelta(days=92)  # minutes are kept for 90 days
MOST_SPANS = 370
_WIDTHS = tuple(minutes * MINUTE for minutes in (1, 4, 10, 20, 30, 60, 180, 360))
_FEW = 20_000  # rows of minutes and tasks, whose times are all read
_READ_OF_A_SPAN = 2  # minutes of each, where there are more
_Epoch = Annotated[int, Field(ge=0, le=250_000_000_000)]


class Stretched(Asked):
    """A window up to now, or a part of time that was zoomed into."""

    window: Window = "1h"
    begin: _Epoch | None = Field(None, alias="from")
    end: _Epoch | None = Field(None, alias="to")

    @property
    def zoom(self) -> tuple[datetime, datetime] | None:
        """The part that was zoomed into, if it is one."""
        if self.begin is None or self.end is None or self.begin >= self.end:
            return None
        first, last = (datetime.fromtimestamp(each, UTC) for each in (self.begin, self.end))
        return max(first, last - LONGEST), last

    @property
    def within(self) -> list[str]:
        """Which part of time it is, as searches write it."""
        if self.zoom is None:
            return [f"since:{self.window}"]
        return [f"since:{self.zoom[0].isoformat()}", f"until:{self.zoom[1].isoformat()}"]

    def link(self, window: Window) -> str:
        """Write what leads to another window."""
        return "?" + urlencode({"window": window})


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of time, from a moment up to another, in spans of one width; both lie on whole spans."""

    first: datetime
    last: datetime
    width: timedelta
    now: datetime

    @property
    def places(self) -> list[datetime]:
        """Where its spans begin."""
        return [self.first + self.width * n for n in range((self.last - self.first) // self.width)]

    def stride(self, rows: int) -> timedelta:
        """Say how far apart the minutes are that times are read from, where there are so many rows of them."""
        return MINUTE if rows <= _FEW else max(MINUTE, self.width // _READ_OF_A_SPAN // MINUTE * MINUTE)

    def is_known(self, place: datetime) -> bool:
        """Whether enough of a span has passed to say how much happens in it: a whole minute."""
        return self.now - place >= MINUTE

    def minutes(self, place: datetime) -> float:
        """How many minutes of a span have passed."""
        return max(min(self.width, self.now - place) / MINUTE, 1.0)


def stretch_of(asked: Stretched, now: datetime) -> Stretch:
    """Say which part of time is meant."""
    first, last = asked.zoom or (now - WINDOWS[asked.window][1], now)
    width = next((each for each in _WIDTHS if (last - first) / each <= MOST_SPANS), _WIDTHS[-1])
    return Stretch(_down(first, width), _down(last - timedelta(microseconds=1), width) + width, width, now)


def _down(moment: datetime, width: timedelta) -> datetime:
    seconds = int(width.total_seconds())
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, UTC)
