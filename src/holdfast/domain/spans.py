"""Durations as people write and read them: 90s, 5m, 2h, 1d; and written with the two units that matter."""

import re
from datetime import datetime, timedelta

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_UNITS = {"": 1, "ms": 0.001, "s": 1, "m": _MINUTE, "min": _MINUTE, "h": _HOUR, "d": _DAY, "w": 7 * _DAY}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


def read_span(text: str) -> timedelta | None:
    """Read a duration; None when it is none."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS:
        return None
    try:
        return timedelta(seconds=float(found[1]) * _UNITS[found[2]])
    except OverflowError:
        return None


def span(time: timedelta | float) -> str:
    """Write a duration with the two units that matter."""
    seconds = max(time.total_seconds() if isinstance(time, timedelta) else time, 0.0)
    if seconds < 0.9995:  # noqa: PLR2004 - from here on it would be written as 1000 ms
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:  # noqa: PLR2004 - below this a tenth is worth reading
        return f"{seconds:.1f} s".replace(".0 ", " ")
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        minutes, rest = divmod(whole, _MINUTE)
        return f"{minutes} min" if minutes >= 10 or not rest else f"{minutes} min {rest:02} s"  # noqa: PLR2004 - as above
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def ago(then: datetime, now: datetime) -> str:
    """Write how long ago a moment was, or in how long it will be."""
    return f"in {span(then - now)}" if then > now else f"{span(now - then)} ago"


def open_or_paused(
    paused_by: str | None,
    since: datetime | None,
    reason: str | None,
    resume_at: datetime | None,
    now: datetime,
) -> str:
    """Say whether a queue or a task is open, or paused by whom since when."""
    if since is None:
        return "open"
    back = f", resumes {ago(resume_at, now)}" if resume_at else ""
    why = f": {reason}" if reason else ""
    return f"paused by {paused_by} {ago(since, now)}{why}{back}"
