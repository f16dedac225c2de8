"""Activity: what happened lately, what people did, and what came from and went to other systems."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlencode
from uuid import UUID

from pydantic import Field

from holdfast.domain.states import Status
from holdfast.interfaces.http.api.alerts import AuditQuery, list_actions
from holdfast.interfaces.http.api.deliveries import (
    DeliveriesQuery,
    replay_delivery,
    show_deliveries,
    show_delivery,
)
from holdfast.interfaces.http.api.jobs import list_jobs
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, File, Form, Section
from holdfast.interfaces.http.problem import INVALID, NOT_FOUND, Refusal
from holdfast.interfaces.tables import as_csv
from holdfast.store.moves import Move, MovePlace, newest_moves, outside_runs

activity = Section("activity")

Show: TypeAlias = Literal["events", "actions", "webhooks", "callbacks"]
TABS: Mapping[Show, str] = {
    "events": "Events",
    "actions": "Operator actions",
    "webhooks": "Webhooks",
    "callbacks": "Callbacks",
}
PAGE = 50
KEPT = 200  # rows of a part; a file has several
MOST_KEPT = 2000
_LARGE, _SMALL = 18, 9  # digits of numbers that fit 64 and 32 bits

KINDS: Mapping[str, tuple[str, tuple[Status, ...] | None]] = {
    "all": ("All", None),
    "failures": ("Failures", (Status.FAILED, Status.RETRY)),
    "ends": ("Ends", (Status.COMPLETED, Status.FAILED, Status.CANCELLED)),
    "people": ("Waiting for people", (Status.WAITING_FOR_APPROVAL,)),
}


class Shown(Asked):
    """Which stream, which part of it, and of what."""

    show: Show = "events"
    kind: Literal["all", "failures", "ends", "people"] = "all"
    status: Literal["handled", "ignored", "failed"] | None = None
    target: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    after: Annotated[str, Field(max_length=100)] | None = None

    def link(self, **changed: str | None) -> str:
        """Write an address like this one but for what changes; whoever changes anything begins at the newest again."""
        told = {"show": self.show, "kind": self.kind, "status": self.status, "target": self.target}
        kept = {name: value for name, value in {**told, **changed}.items() if value not in {None, "all", ""}}
        return "?" + urlencode({name: str(value) for name, value in kept.items()})


class Kept(Shown):
    """What to keep, and how it is written."""

    form: Literal["csv", "json"] = "csv"


@activity.panel("figures", rest=2)
async def stream(look: Look, asked: Shown) -> dict[str, Any]:
    """Show a part of one of the streams, the newest first."""
    items, following = await _read(look, asked, PAGE)
    return {
        "items": items, "tabs": TABS, "kinds": KINDS, "newer": asked.link() if asked.after else None,
        "older": None if following is None else asked.link(after=following),
        "kept": {form: "/activity/export" + asked.link(form=form) for form in ("csv", "json")},
    }  # fmt: skip


async def _read(look: Look, asked: Shown, limit: int) -> tuple[Sequence[Any], str | None]:
    match asked.show:
        case "events":
            return await _moves(look, asked, limit)
        case "actions":
            query = AuditQuery(target=asked.target, after=_number(asked.after), limit=limit)
            actions = await look.at(list_actions, query)
            return actions.items, actions.next
        case "webhooks":
            after = None if asked.after is None else _uuid(asked.after)
            brought = await look.at(
                show_deliveries, DeliveriesQuery(endpoint=asked.target, status=asked.status, after=after, limit=limit)
            )  # fmt: skip
            return brought.items, brought.next
        case "callbacks":
            return await _outside(look, asked, limit)


async def _moves(look: Look, asked: Shown, limit: int) -> tuple[Sequence[Move], str | None]:
    await look.require(list_jobs)
    statuses = KINDS[asked.kind][1]
    found = await look.call.ask(
        newest_moves(look.principal.tenant, statuses, _move_place(asked.after), limit)
    )
    behind = found.following
    return found.items, None if behind is None else f"{behind.xid}.{behind.job_id}.{behind.seq}"


async def _outside(look: Look, asked: Shown, limit: int) -> tuple[Sequence[Any], str | None]:
    await look.require(list_jobs)
    behind = None
    if asked.after is not None:
        job_id, _, attempt = asked.after.partition(".")
        behind = (_uuid(job_id), _whole(attempt, _SMALL))
    found = await look.call.ask(outside_runs(behind, limit + 1))
    further = f"{found[limit - 1].job_id}.{found[limit - 1].attempt}" if len(found) > limit else None
    return found[:limit], further


def _move_place(written: str | None) -> MovePlace | None:
    if written is None:
        return None
    xid, job_id, seq = (*written.split("."), "", "")[:3]
    return MovePlace(_whole(xid, _LARGE), _uuid(job_id), _whole(seq, _SMALL))


def _number(written: str | None) -> str | None:
    return None if written is None else str(_whole(written, _LARGE))


def _whole(written: str, digits: int) -> int:
    if not (written.isascii() and written.isdigit() and len(written) <= digits):
        raise _no_place()
    return int(written)


def _uuid(written: str) -> UUID:
    try:
        return UUID(written)
    except ValueError:
        raise _no_place() from None


def _no_place() -> Refusal:
    return Refusal(INVALID, "there is no such place in this list: begin at its newest")


@activity.panel()
async def delivery(look: Look, delivery_id: str) -> dict[str, Any]:
    """Show one event that another system brought."""
    return {"found": await look.at(show_delivery, _known(delivery_id))}


activity.page("/activity", "Activity", stream, asked=Shown)
activity.page("/activity/webhooks/{delivery_id}", "Webhook", delivery, name="delivery")


class ReplayForm(Form):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


@activity.action("/activity/webhooks/{delivery_id}/replay")
async def replay(look: Look, form: ReplayForm, delivery_id: str) -> Done:
    """Hand an event to its handler again."""
    done = await look.at(replay_delivery, _known(delivery_id), ReasonBody(reason=form.reason))
    made = f"{len(done.jobs)} job{'' if len(done.jobs) == 1 else 's'} came of it"
    return Done(f"The event was handled again; {made}.", f"/activity/webhooks/{delivery_id}")


def _known(delivery_id: str) -> UUID:
    try:
        return UUID(delivery_id)
    except ValueError:
        raise Refusal(NOT_FOUND, "there is no such delivery") from None


@activity.download("/activity/export")
async def keep(look: Look, asked: Kept) -> File:
    """Write the newest of a stream."""
    rows: list[dict[str, Any]] = []
    while len(rows) < MOST_KEPT:
        items, following = await _read(look, asked, KEPT)
        rows += [_written(item) for item in items]
        if following is None:
            break
        asked = asked.model_copy(update={"after": following})
    name = f"activity-{asked.show}.{asked.form}"
    if asked.form == "json":
        return File(name, "application/json", json.dumps(rows, default=str, ensure_ascii=False, indent=1))
    head = list(rows[0]) if rows else ["at"]
    return File(name, "text/csv", as_csv(head, ([_cell(row[name]) for name in head] for row in rows)))


def _written(item: Any) -> dict[str, Any]:
    if isinstance(item, Move):
        return {name: value for name, value in item._asdict().items() if name != "xid"}
    told: dict[str, Any] = item._asdict() if hasattr(item, "_asdict") else item.model_dump()
    return told


def _cell(value: Any) -> Any:
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, dict | list) else value
