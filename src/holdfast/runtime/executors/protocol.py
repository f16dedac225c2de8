"""What an outside executor is asked to do, and what it may answer."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.domain.callback import Token
from holdfast.domain.errors import Configuration
from holdfast.domain.signature import refuse_weak
from holdfast.runtime.keys import derived_secrets

CALLBACK_VARIABLE = "HOLDFAST_CALLBACK_URL"
DEFAULT_TRIES = 8

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run as its executor names it."""

    id: str | None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One attempt on its way to an executor."""

    id: UUID
    token: Token
    inputs: dict[str, Any] = field(repr=False)
    callback_url: str
    planned_at: datetime
    run_id: str | None = None  # the run that reported, or that the executor named; None when nobody has yet

    @property
    def job_id(self) -> UUID:
        """The job; stable over its attempts."""
        return self.token.job_id

    @property
    def attempt(self) -> int:
        """Which attempt of the job this is."""
        return self.token.attempt


class Executor(ABC):
    """Runs jobs elsewhere. Derive from it, write `start`, and register it with `app.executor(…)`.

    `secret` is what its callbacks are signed with, a list while two overlap; without one it is derived from HOLDFAST_SECRET_KEY.
    """

    def __init__(
        self,
        name: str,
        *,
        secret: str | Sequence[str] | None = None,
        callback_url: str | None = None,
        plain_signature: bool = False,
        tries: int = DEFAULT_TRIES,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise Configuration(
                f"executor {name!r}: a name has 1 to 63 lower-case letters, digits, - and _, for it stands in URLs"
            )
        if tries < 1:
            raise Configuration(f"executor {name!r} has tries={tries}; it must be called at least once")
        given = [secret] if isinstance(secret, str) else list(secret or [])
        self.name = name
        self.tries = tries
        self.plain_signature = plain_signature
        self._secrets = [refuse_weak(f"the secret of executor {name!r}", each) for each in given]
        self._callback_url = callback_url

    def __repr__(self) -> str:
        return f"<executor {self.name}>"

    @abstractmethod
    async def start(self, dispatch: Dispatch) -> RunRef | None:
        """Start a run. Raise DispatchRefused when it can never work, DispatchFailed when it may work later."""

    async def find(self, dispatch: Dispatch) -> RunRef | None:  # noqa: ARG002 - for those that can look
        """Look for the run of an attempt whose start nobody heard the answer to; None starts it again."""
        return None

    async def cancel(self, dispatch: Dispatch) -> bool:  # noqa: ARG002 - for those that can cancel
        """Ask a run to stop; answers whether it is known to have ended already."""
        return False

    def secrets(self) -> list[str]:
        """Give the secrets that its callbacks may be signed with, the current one first."""
        return list(self._secrets) or derived_secrets(self.name)

    def callback_url(self, token: Token) -> str:
        """Say where the runs of an attempt report to."""
        base = self._callback_url or os.environ.get(CALLBACK_VARIABLE)
        if not base:
            raise Configuration(
                f"executor {self.name!r} has no address to report to: set {CALLBACK_VARIABLE}, e.g. https://jobs.example.com, "
                "to where `holdfast server` is reached from outside"
            )
        return f"{base.rstrip('/')}/callbacks/v1/{self.name}/{token.path}"
