"""Deliveries of webhooks: taken once, kept with what came of them, listed and replayed."""

from typing import Literal, TypeAlias
from uuid import UUID

import psycopg

from holdfast.domain.errors import DatabaseUnavailable
from holdfast.domain.webhook import Delivery, WebhookEvent
from holdfast.store.call import Call, Row, function, nothing, query, single
from holdfast.store.errors import is_connection_loss

DeliveryStatus: TypeAlias = Literal["handled", "ignored", "failed"]

_FIRST, _LAST = UUID(int=0), UUID(int=2**128 - 1)


def begin_webhook(event: WebhookEvent, status: DeliveryStatus) -> Call[UUID | None]:
    """Take an event in this transaction; None when it was taken before."""
    return function(
        "begin_webhook", event.delivery_id, event.endpoint, event.id, event.type, event.tenant, status, event.raw,
        read=single, types=("", "text", "text", "text", "text", "text", ""),
    )  # fmt: skip


def end_replay(delivery_id: UUID) -> Call[list[UUID]]:
    """Write down which jobs this transaction made, and answer them."""
    return function("end_replay", delivery_id, read=single)


def fail_webhook(event: WebhookEvent, error: str) -> Call[None]:
    """Keep an event whose handler failed."""
    return function(
        "fail_webhook", event.delivery_id, event.endpoint, event.id, event.type, event.tenant, event.raw, error,
        read=nothing, types=("", "text", "text", "text", "text", "", "text"),
    )  # fmt: skip


def begin_replay(delivery_id: UUID, actor: str) -> Call[int | None]:
    """Open a delivery to be handled again; answers for the how manieth time."""
    return function("begin_replay", delivery_id, actor, read=single, types=("", "text"))


def leave() -> Call[None]:
    """Do what follows in this transaction as the login itself, which may write the application's tables."""
    return function("leave", read=nothing)


def find_delivery(delivery_id: UUID, tenant: str | None = None) -> Call[Delivery | None]:
    """Look one delivery up; with a tenant only if it is that tenant's."""
    return query(
        "deliveries",
        lambda rows: Delivery(*rows[0]) if rows else None,
        first=delivery_id, last=delivery_id, endpoint=None, status=None, tenant=tenant, limit=1,
    )  # fmt: skip


def list_deliveries(
    *,
    endpoint: str | None = None,
    status: DeliveryStatus | None = None,
    tenant: str | None = None,
    before_id: UUID | None = None,
    limit: int = 50,
) -> Call[list[Delivery]]:
    """List deliveries, newest first; the next page begins before the last id of this one."""
    last = _LAST if before_id is None else UUID(int=max(before_id.int - 1, 0))
    return query(
        "deliveries", _read,
        first=_FIRST, last=last, endpoint=endpoint, status=status, tenant=tenant, limit=limit,
    )  # fmt: skip


def deliveries_between(first: UUID, last: UUID, limit: int) -> Call[list[Delivery]]:
    """List deliveries whose ids lie in a range."""
    return query(
        "deliveries", _read, first=first, last=last, endpoint=None, status=None, tenant=None, limit=limit
    )


def delivery_body(delivery_id: UUID) -> Call[bytes]:
    """Give what was sent."""
    return query("delivery_body", lambda rows: bytes(rows[0][0]), delivery_id=delivery_id)


def _read(rows: list[Row]) -> list[Delivery]:
    return [Delivery(*row) for row in rows]


def is_passing(error: Exception) -> bool:
    """Whether the database was the trouble, and another time it may work; also when a handler met it as the driver's own error."""
    return isinstance(error, DatabaseUnavailable) or (
        isinstance(error, psycopg.Error) and is_connection_loss(error)
    )
