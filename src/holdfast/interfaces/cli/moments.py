"""Durations and moments as people type them: 90, 90s, 5m, 2h, 1d; 2030-01-31T10:00Z."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click

from holdfast.domain.spans import read_span


class Duration(click.ParamType[timedelta]):
    """How long: 90s, 5m, 2h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read it."""
        read = value if isinstance(value, timedelta) else read_span(value)
        if read is None:
            self.fail(f"{value!r} is no duration: write 90s, 5m, 2h or 1d", param, ctx)
        return read


class Moment(click.ParamType[datetime]):
    """When: an ISO time with its zone, or how long ago."""

    name = "moment"

    def __init__(self, takes_ago: bool = False) -> None:
        self._takes_ago = takes_ago

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read it."""
        if isinstance(value, datetime):
            return value
        back = read_span(value) if self._takes_ago else None
        if back is not None:
            return datetime.now(UTC) - back
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            also = ", or how long ago: 90s, 5m, 2h, 1d" if self._takes_ago else ""
            self.fail(f"{value!r} is no time: write 2030-01-31T10:00:00Z{also}", param, ctx)
        if at.tzinfo is None:
            self.fail(f"{value!r} has no time zone: write {value}Z or {value}+01:00", param, ctx)
        return at
