"""Schedules: registering, firing and steering them. Workers compute the times, the database decides which fire."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.redaction import redacted
from holdfast.domain.schedule import Due, Plan, Schedule, ScheduleRun, Timing
from holdfast.store.call import Call, Row, function, nothing, query, single
from holdfast.store.hidden import hidden_in


class DueSchedules(NamedTuple):
    """Definitions whose time may have come, and in how many seconds the next one's will."""

    schedules: list[dict[str, Any]]
    next_in: float | None


def register_schedules(worker_id: UUID, definitions: Sequence[dict[str, Any]]) -> Call[list[str]]:
    """Say which schedules a worker's code declares; answers the names that run-time schedules have."""
    return function(
        "register_schedules",
        worker_id,
        json.dumps(list(definitions)),
        read=lambda rows: [name for (name,) in rows],
        types=("", "jsonb"),
    )


def create_schedule(definition: dict[str, Any], replace: bool) -> Call[None]:
    """Make a schedule at run time."""
    return function(
        "create_schedule", json.dumps(definition), replace, read=nothing, types=("jsonb", "boolean")
    )


def edit_schedule(name: str, changes: dict[str, Any]) -> Call[None]:
    """Change when it fires, its policies, and its payload if there is one among the changes."""
    return function("edit_schedule", name, json.dumps(changes), read=nothing, types=("text", "jsonb"))


def due_schedules(limit: int, but: Sequence[str]) -> Call[DueSchedules]:
    """Ask which schedules need their times computed."""
    return function(
        "due_schedules", limit, list(but), read=lambda rows: DueSchedules(*rows[0]), types=("int", "text[]")
    )


def read_due(row: dict[str, Any]) -> Due:
    """Read one of the due; refuses a timing that this process cannot compute."""
    every = row["every"]
    timing = Timing(cron=row["cron"], every=None if every is None else timedelta(seconds=every), tz=row["tz"])
    anchor, settled_to, now = (datetime.fromisoformat(row[name]) for name in ("anchor", "settled_to", "now"))
    return Due(row["name"], row["version"], timing, anchor, row["missed"], settled_to, now)


def fire_schedule(due: Due, plan: Plan) -> Call[int | None]:
    """Settle the times that have passed; None when the schedule is not what was read any more."""
    return function(
        "fire_schedule",
        due.name,
        due.version,
        due.settled_to,
        plan.slots,
        [plan.missed[0], plan.missed[-1]] if plan.missed else [],
        len(plan.missed),
        plan.next_at,
        read=single,
        types=("text", "int", "timestamptz", "timestamptz[]", "timestamptz[]", "int", "timestamptz"),
    )


def run_schedule(name: str, actor: str | None, job_id: UUID) -> Call[UUID]:
    """Run it now, once."""
    return function("run_schedule", name, actor, job_id, read=single, types=("text", "text", "uuid"))


def pause_schedule(name: str, actor: str | None, reason: str | None) -> Call[None]:
    """Let its times pass without firing."""
    return function("pause_schedule", name, actor, reason, read=nothing, types=("text", "text", "text"))


def resume_schedule(name: str) -> Call[bool]:
    """Fire again from now on; answers whether it was paused."""
    return function("resume_schedule", name, read=single)


def delete_schedule(name: str) -> Call[bool]:
    """Forget a schedule; what became of its times stays."""
    return function("delete_schedule", name, read=single)


def schedules(name: str | None = None, limit: int = 10_000) -> Call[list[Schedule]]:
    """List schedules, or look one up."""
    return query("schedules", _read, schedule=name, limit=limit)


def schedule_runs(name: str, limit: int = 20) -> Call[list[ScheduleRun]]:
    """List what became of its newest times."""
    return query(
        "schedule_runs", lambda rows: [ScheduleRun(*row) for row in rows], schedule=name, limit=limit
    )


def schedule_bars(names: Sequence[str], limit: int) -> Call[list[Row]]:
    """List the newest times of several schedules, the oldest first, each with how its job stands."""
    return query("schedule_bars", lambda rows: rows, schedules=list(names), limit=limit)


def _read(rows: list[Row]) -> list[Schedule]:
    # Who looks at a schedule sees what they would see of its jobs.
    return [
        replace(one, payload=redacted(one.payload, hidden.paths), options=hidden.text(one.options))
        for *told, hidden_there in rows
        for one, hidden in [(Schedule(*told), hidden_in(hidden_there))]
    ]
