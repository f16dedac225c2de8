"""`holdfast webhook`: the events that other systems brought, what came of them, and handling one again."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import DeliveryNotFound
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, confirm, current, say
from holdfast.interfaces.cli.job_ids import find_by_beginning
from holdfast.interfaces.cli.output import Column, as_json, badge, clock_time, dim, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.webhook import Delivery
    from holdfast.runtime.app import Holdfast
    from holdfast.store.webhook import DeliveryStatus


@click.group(cls=Group)
def webhook() -> None:
    """List, show and replay what other systems brought. IDs may be shortened where the beginning is unique."""


@webhook.command("list", cls=Command)
@click.option("--endpoint", metavar="NAME", help="Those of this endpoint.")
@click.option("--status", type=click.Choice(["handled", "ignored", "failed"]), help="Those of this status.")
@click.option("--tenant", metavar="NAME", help="Those of this tenant.")
@click.option("--before", metavar="ID", help="The page after the one that ended with this delivery.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
def list_(
    endpoint: str | None,
    status: "DeliveryStatus | None",
    tenant: str | None,
    before: str | None,
    limit: int,
) -> None:
    """List deliveries, newest first."""
    from holdfast.domain.sentence import ago
    from holdfast.store.webhook import list_deliveries

    asked = list_deliveries(
        endpoint=endpoint, status=status, tenant=tenant, before_id=_find(before) if before else None, limit=limit + 1
    )  # fmt: skip
    found = current().link.perform_once(asked)
    shown = found[:limit]
    columns = ["ID", "ENDPOINT", "TYPE", "EVENT", "RECEIVED", "TRIES", "JOBS", "STATUS"]
    cells = [
        [
            str(each.id),
            plain(each.endpoint),
            plain(each.type),
            plain(each.event_id),
            ago(each.received_at, each.now),
            str(each.tries),
            str(len(each.jobs)),
            badge(each.status),
        ]
        for each in shown
    ]
    emit(
        [_as_json(each) for each in shown],
        [Column(title, "right" if title in {"TRIES", "JOBS"} else "left") for title in columns],
        cells,
        "nobody has brought anything",
    )
    if len(found) > limit and current().output == "table":
        say(f"more: --before {shown[-1].id}")


@webhook.command(cls=Command)
@click.argument("delivery_id", metavar="ID")
def show(delivery_id: str) -> None:
    """Show a delivery and its body, in which what is private is hidden. Without -a the body is left out."""
    found = _get(_find(delivery_id))
    body = _shown_body(found, current().app)
    emit_one({**_as_json(found), "body": body}, _lines(found, body))


@webhook.command(cls=Command)
@click.argument("delivery_id", metavar="ID")
@click.option("--reason", help="Why, for the audit.")
@click.option("--as", "--actor", "who", metavar="NAME", help="Who replays [your user name].")
def replay(delivery_id: str, reason: str | None, who: str | None) -> None:
    """Call a delivery's handler again, here, with what was sent then. It needs your app: -a module:attribute."""
    from holdfast.runtime.webhooks import replay as replay_delivery

    app = current().require_app()
    found = _get(_find(delivery_id))
    confirm(f"handle {found.type} {found.event_id} of {found.endpoint} again?")

    async def run() -> list[UUID]:
        try:
            return await replay_delivery(app, found.id, actor(who), reason)
        finally:
            await app.link.aclose()

    jobs = asyncio.run(run())
    made = ", ".join(str(job) for job in jobs) or "no jobs"
    emit_one({"id": found.id, "jobs": jobs}, [f"replayed {found.id}: {made}"])


def _find(text: str) -> UUID:
    from holdfast.store.webhook import deliveries_between

    def candidates(first: UUID, last: UUID, limit: int) -> list[tuple[UUID, str]]:
        found = current().link.perform_once(deliveries_between(first, last, limit))
        return [(each.id, f"{plain(each.type)} {plain(each.event_id)}") for each in found]

    return find_by_beginning(text, "webhook", candidates, DeliveryNotFound)


def _get(delivery_id: UUID) -> "Delivery":
    from holdfast.store.webhook import find_delivery

    found = current().link.perform_once(find_delivery(delivery_id))
    if found is None:
        raise DeliveryNotFound(f"no delivery has the id {delivery_id}")
    return found


def _shown_body(delivery: "Delivery", app: "Holdfast | None") -> Any:
    """Give the body; only the app knows what of it is to be hidden."""
    from holdfast.domain.webhook import read_json, redacted
    from holdfast.store.webhook import delivery_body

    declared = app.webhooks.get(delivery.endpoint) if app is not None else None
    if declared is None:
        return None
    return redacted(read_json(current().link.perform_once(delivery_body(delivery.id))), declared.redact)


def _as_json(delivery: "Delivery") -> dict[str, Any]:
    told = delivery._asdict()
    del told["now"]
    return told


def _lines(delivery: "Delivery", body: Any) -> Iterator[str]:
    from holdfast.domain.sentence import ago

    yield f"{badge(delivery.status)}  {click.style(plain(delivery.type), bold=True)}"
    yield ""
    facts = {
        "id": delivery.id,
        "endpoint": delivery.endpoint,
        "event": delivery.event_id,
        "tenant": delivery.tenant,
        "received": f"{clock_time(delivery.received_at)} ({ago(delivery.received_at, delivery.now)}), {delivery.bytes:,} bytes",
        "tries": delivery.tries,
        "replays": f"{delivery.replays}, last by {delivery.replayed_by}" if delivery.replays else None,
        "error": delivery.error,
        "jobs": ", ".join(str(job) for job in delivery.jobs) or None,
    }
    for name, value in facts.items():
        if value is not None:
            yield f"  {dim(f'{name:<8}')}  {plain(value)}"
    yield ""
    if body is None:
        yield "its body is shown with your app, which says what of it is private: -a module:attribute"
    else:
        yield from (plain(line) for line in as_json(body, indent=2).splitlines())
