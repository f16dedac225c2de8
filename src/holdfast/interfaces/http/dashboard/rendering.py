"""Templates, and how times, spans, numbers and values are written in them."""

import json
import re
import shlex
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from holdfast.domain.segments import segment_of
from holdfast.domain.served import written_queue
from holdfast.domain.states import Status
from holdfast.interfaces.http.dashboard.terms import jobs_with, term

_SECONDS_OF_A_DAY = 86_400
_UNIT = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
NOTHING = "\N{EN DASH}"


def moment(at: datetime | None) -> Markup:
    """Write a moment: the browser says how long ago, and the tooltip when exactly."""
    if at is None:
        return Markup('<span class="none">{}</span>').format(NOTHING)
    exact = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        exact.isoformat(), f"{exact:%Y-%m-%d %H:%M:%S} UTC", f"{exact:%d %b %H:%M:%S}"
    )


def exact(at: datetime) -> Markup:
    """Write a moment to the second, beside the one that says how long ago it was."""
    told = at.astimezone(UTC)
    return Markup('<time class="exact" datetime="{}">{}</time>').format(
        told.isoformat(), f"{told:%Y-%m-%d %H:%M:%S}"
    )


def span(length: timedelta | float | None) -> str:
    """Write how long something lasts: 8 ms, 0.42 s, 12 s, 4m 05s, 1h 04m, 3d 2h."""
    if length is None:
        return NOTHING
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 10:  # noqa: PLR2004 - below it, parts of a second are worth their place
        return f"{seconds * 1000:.3g} ms" if 0 < seconds < 0.1 else f"{seconds:.2f} s"  # noqa: PLR2004 - nor is 0.00 a number
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.0f} s"
    if seconds < 3600:  # noqa: PLR2004 - an hour
        return f"{int(seconds // 60)}m {int(seconds % 60):02}s"
    if seconds < _SECONDS_OF_A_DAY:
        return f"{int(seconds // 3600)}h {int(seconds % 3600 // 60):02}m"
    return f"{int(seconds // _SECONDS_OF_A_DAY)}d {int(seconds % _SECONDS_OF_A_DAY // 3600)}h"


def count(number: int | None, cap: int = 10_000) -> str:
    """Write a count; beyond the cap it was not counted."""
    if number is None:
        return NOTHING
    return f"{cap:,}+" if number > cap else f"{number:,}"


def size(number: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(number), 0
    while amount >= _UNIT and unit < len(_UNITS) - 1:
        amount, unit = amount / _UNIT, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:.1f} {_UNITS[unit]}"  # noqa: PLR2004 - three digits say enough


def state_class(status: Status | str) -> str:
    """Name a state as the styles do."""
    return f"state-{str(status).lower().replace('_', '-')}"


def state_word(status: Status | str) -> str:
    """Name a state as people do."""
    return str(status).replace("_", " ").capitalize()


def short_id(value: Any) -> str:
    """Write the end of an id: ids that were made in one moment begin alike."""
    return str(value)[-8:]


def type_name(text: str) -> str:
    """Name a type as its code does, without where it is from."""
    return text.rpartition(".")[2]


def linked(text: str, url: Callable[[str], str], ids: Iterable[Any]) -> Markup:
    """Write a sentence in which the ids of these jobs are short and lead to them; whatever else looks like one is text."""
    known = {str(each) for each in ids if each is not None}
    parts = re.split(f"({'|'.join(map(re.escape, known))})", text) if known else [text]
    link = Markup('<a class="mono" href="{}" title="{}">{}</a>')
    return Markup("").join(
        link.format(url(f"/jobs/{part}"), part, short_id(part)) if part in known else part for part in parts
    )


def as_json(value: Any) -> str:
    """Write a value as it is stored; numbers of any size stay whole."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@cache
def environment() -> Environment:
    """Make the templates' surroundings, once for all apps; whatever is unknown is an error, and everything is escaped."""
    made = Environment(
        loader=PackageLoader("holdfast.interfaces.http.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        moment=moment, exact=exact, span=span, count=count, size=size, state_class=state_class, state_word=state_word, short_id=short_id, linked=linked, type_name=type_name, segment=segment_of, served=written_queue, as_json=as_json, shell_word=shlex.quote, python=repr,
    )  # fmt: skip
    made.globals.update(jobs_with=jobs_with, term=term)
    return made
