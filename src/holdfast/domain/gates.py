"""Tasks and flags as operators see them: what is paused, what is switched off, by whom and why."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from holdfast.domain.spans import open_or_paused


@dataclass(frozen=True, slots=True)
class FlagInfo:
    """One flag. One that nobody has set is on for all."""

    name: str
    enabled: bool
    percent: int
    set_by: str | None
    reason: str | None
    at: datetime | None
    tasks: list[str]
    now: datetime

    @property
    def status(self) -> str:
        """On, off, or on for a share."""
        if not self.enabled:
            return "off"
        return "on" if self.percent == 100 else f"on for {self.percent} %"  # noqa: PLR2004 - all of a hundred


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task, and what stands in front of its jobs."""

    name: str
    queue: str
    options: dict[str, Any]
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    resume_at: datetime | None
    workers: int
    now: datetime
    retention: timedelta | None = None

    @property
    def status(self) -> str:
        """Open, or paused by whom since when."""
        return open_or_paused(self.paused_by, self.paused_at, self.paused_for, self.resume_at, self.now)

    @property
    def gates(self) -> str:
        """What its jobs must pass, in short."""
        told = [f"{one['max']} at once of {one['key']}" for one in self.options.get("limits", ())]
        told += [f"{one['max']} in {one['per']:g} s of {one['key']}" for one in self.options.get("rates", ())]
        if "flag" in self.options:
            told.append(f"flag {self.options['flag']}")
        return ", ".join(told)
