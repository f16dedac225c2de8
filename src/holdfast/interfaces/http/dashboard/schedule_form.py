"""Changing a schedule that was made at run time, with a look at its next times before it counts."""

import json
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import Field

from holdfast.domain.errors import BadInput
from holdfast.domain.redaction import HIDDEN
from holdfast.domain.segments import segment_of
from holdfast.domain.spans import read_span
from holdfast.interfaces.http.api.schedules import (
    EditScheduleBody,
    ScheduleView,
    TimesQuery,
    edit_schedule,
    explain_timing,
    show_schedule,
)
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, Form
from holdfast.interfaces.http.dashboard.rendering import as_json
from holdfast.interfaces.http.dashboard.schedules import (
    MISSED,
    OVERLAP,
    schedule_card,
    schedule_list,
    schedule_runs,
    schedules,
)
from holdfast.interfaces.http.problem import CONFLICT, Refusal, refusal_of
from holdfast.runtime.schedules import timing_of

__all__ = ["schedules"]  # with the form that is added here

MOST_PAYLOAD = 6_000
_MOST_ASKED = 2_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class Written(Asked):
    """What stands in the form, if it was sent to be looked at."""

    cron: str | None = None
    every: str | None = None
    tz: str | None = None
    missed: str | None = None
    overlap: str | None = None
    payload: str | None = None


def _filled(schedule: ScheduleView, asked: Written) -> dict[str, str]:
    """Fill the form: with what was written in it, else with what the schedule is."""
    text = as_json(schedule.payload or {})
    is_new = asked.cron is not None or asked.every is not None
    told = {
        "cron": schedule.cron or "", "every": _span(schedule.every), "tz": schedule.tz,
        "missed": schedule.missed, "overlap": schedule.overlap, "payload": text if len(text) <= MOST_PAYLOAD else "",
    }  # fmt: skip
    if is_new:
        told |= {name: getattr(asked, name) or "" for name in ("cron", "every")}
    told |= {
        name: value for name in ("tz", "missed", "overlap", "payload") if (value := getattr(asked, name))
    }
    return told


def _span(seconds: float | None) -> str:
    """Write an interval as it is typed: 90s, 15m, 2h, 1d."""
    if seconds is None:
        return ""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{int(seconds // size)}{unit}"


def _every(text: str | None) -> float | None:
    if not text:
        return None
    length = read_span(text)
    if length is None:
        raise BadInput(f"{text[:40]!r} is no interval: write 90s, 15m, 2h or 1d")
    return length.total_seconds()


async def _editable(look: Look, name: str) -> ScheduleView:
    await look.require(edit_schedule)
    schedule = await look.at(show_schedule, name)
    if schedule.declared:
        raise Refusal(CONFLICT, f"schedule {name} is declared in code: change it there")
    return schedule


@schedules.panel()
async def schedule_form(look: Look, asked: Written, name: str) -> dict[str, Any]:
    """Show what can be changed of a schedule."""
    schedule = await _editable(look, name)
    text = as_json(schedule.payload or {})
    return {
        "schedule": schedule,
        "filled": _filled(schedule, asked),
        "missed": MISSED,
        "overlap": OVERLAP,
        "is_large": len(text) > MOST_PAYLOAD,
        "has_hidden": HIDDEN in text,
    }


@schedules.panel()
async def schedule_preview(look: Look, asked: Written, name: str) -> dict[str, Any]:
    """Say in words when what stands in the form would fire."""
    filled = _filled(await _editable(look, name), asked)
    try:
        every = _every(filled["every"])
        told = await look.at(
            explain_timing,
            TimesQuery.model_construct(cron=filled["cron"] or None, every=every, tz=filled["tz"]),
        )
    except BadInput as error:
        return {"timing": None, "problem": refusal_of(error).detail}
    return {"timing": told, "problem": None}


schedules.page("/schedules", "Schedules", schedule_list)
schedules.page(
    "/schedules/{name:path}/edit",
    "Edit",
    schedule_form,
    schedule_preview,
    name="schedule_edit",
    asked=Written,
)
schedules.page("/schedules/{name:path}", "Schedule", schedule_card, schedule_runs, name="schedule")


class EditForm(Form):
    """What a schedule is to be, and why."""

    cron: Annotated[str, Field(max_length=200)] | None = None
    every: Annotated[str, Field(max_length=40)] | None = None
    tz: Annotated[str, Field(max_length=100)] = "UTC"
    missed: Literal["skip", "one", "all"]
    overlap: Literal["allow", "skip", "replace"]
    payload: str | None = None
    reason: Annotated[str, Field(min_length=1, max_length=500)]


@schedules.action("/schedules/{name:path}/edit")
async def edit(look: Look, form: EditForm, name: str) -> Done:
    """Change a schedule; what makes no sense stays in the form."""
    schedule = await _editable(look, name)
    here = f"/schedules/{segment_of(name)}"
    try:
        every = _every(form.every)
        timing_of(form.cron, every, form.tz)
        payload = _payload(form.payload, schedule)
    except BadInput as error:
        written = form.model_dump(exclude={"reason"}, exclude_none=True)
        kept = {key: value for key, value in written.items() if len(value) <= _MOST_ASKED}
        return Done(f"Nothing was changed: {error}.", f"{here}/edit?{urlencode(kept)}")
    body = EditScheduleBody(
        cron=form.cron, every=every, tz=form.tz, missed=form.missed, overlap=form.overlap, payload=payload, reason=form.reason,
    )  # fmt: skip
    changed = await look.at(edit_schedule, name, body)
    return Done(f"Schedule {name} fires {changed.sentence} from now on.", here)


def _payload(text: str | None, schedule: ScheduleView) -> dict[str, Any] | None:
    """Read a payload; None when it stays as it is."""
    if not text:
        return None
    try:
        written = json.loads(text)
    except ValueError as error:
        raise BadInput(f"the payload is no JSON: {error}") from None
    if not isinstance(written, dict):
        raise BadInput('the payload is no JSON object: write {"name": value}')
    if written == schedule.payload:
        return None
    if HIDDEN in text:
        raise BadInput("parts of the payload are hidden here: leave it as it is, or write all of it anew")
    return written
