"""/deliveries: the events that other systems brought, what came of them, and handling one again."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import DeliveryNotFound
from holdfast.domain.webhook import Delivery, read_json, redacted
from holdfast.interfaces.http.api.payloads import HIDDEN
from holdfast.interfaces.http.api.words import Limit, Name, ReasonBody
from holdfast.interfaces.http.operation import ApiCall, Operations, Page, Query, View
from holdfast.interfaces.http.problem import INVALID, NOT_FOUND
from holdfast.runtime.webhooks import replay_within
from holdfast.store.access import enter
from holdfast.store.webhook import delivery_body, find_delivery, list_deliveries

deliveries = Operations("deliveries")


class DeliveriesQuery(Query):
    """Which deliveries."""

    endpoint: Name | None = None
    status: Literal["handled", "ignored", "failed"] | None = None
    after: UUID | None = None
    limit: Limit = 50


class DeliveryView(View):
    """An event that was brought, without its body."""

    id: UUID
    endpoint: str
    event_id: str
    type: str
    tenant: str | None
    status: str
    received_at: datetime
    ended_at: datetime
    tries: int
    replays: int
    replayed_by: str | None
    error: str | None
    jobs: list[UUID]


class DeliveryWithBodyView(DeliveryView):
    """An event that was brought; what is private in its body is hidden."""

    body: Any
    hidden: Annotated[str | None, Field(description="Why the body is not shown")] = None


class DeliveriesPage(Page):
    """Some deliveries, newest first."""

    items: list[DeliveryView]


class ReplayedView(View):
    """The jobs that a replay made."""

    jobs: list[UUID]


@deliveries.get("/deliveries")
async def show_deliveries(call: ApiCall, query: DeliveriesQuery) -> DeliveriesPage:
    """List deliveries, newest first."""
    found = await call.ask(
        list_deliveries(
            endpoint=query.endpoint, status=query.status, tenant=call.principal.tenant,
            before_id=query.after, limit=query.limit + 1,
        )
    )  # fmt: skip
    items = [DeliveryView.model_validate(each) for each in found[: query.limit]]
    return DeliveriesPage(items=items, next=str(items[-1].id) if len(found) > query.limit else None)


@deliveries.get("/deliveries/{delivery_id}", problems=(NOT_FOUND,))
async def show_delivery(call: ApiCall, delivery_id: UUID) -> DeliveryWithBodyView:
    """Show a delivery; secrets, personal data and what the webhook's redact= names are hidden."""
    found = await _find(call, delivery_id)
    told = DeliveryView.model_validate(found).model_dump()
    if not call.principal.sees_payloads:
        return DeliveryWithBodyView(**told, body=None, hidden=HIDDEN)
    webhook = call.app.webhooks.get(found.endpoint)
    body = read_json(await call.ask(delivery_body(delivery_id)))
    # An endpoint that this app no longer declares may have had fields to hide that nobody knows any more.
    if webhook is None:
        return DeliveryWithBodyView(
            **told, body=None, hidden=f"this app does not declare the webhook {found.endpoint}"
        )
    return DeliveryWithBodyView(**told, body=redacted(body, webhook.redact))


@deliveries.post("/deliveries/{delivery_id}/replay", scope=Scope.OPERATE, problems=(NOT_FOUND, INVALID))
async def replay_delivery(call: ApiCall, delivery_id: UUID, body: ReasonBody) -> ReplayedView:
    """Call the event's handler again."""
    found = await _find(call, delivery_id)
    jobs = await replay_within(call.app, call.transaction, found, call.principal.name)
    await call.ask(enter(call.principal.sees))  # the handler acted for its endpoint
    await call.record("delivery.replay", str(delivery_id), body.reason, jobs=[str(job) for job in jobs])
    return ReplayedView(jobs=jobs)


async def _find(call: ApiCall, delivery_id: UUID) -> Delivery:
    found = await call.ask(find_delivery(delivery_id, call.principal.tenant))
    if found is None:
        raise DeliveryNotFound(f"no delivery has the id {delivery_id}")
    return found
