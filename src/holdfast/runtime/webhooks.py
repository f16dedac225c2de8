"""Webhooks in: the endpoints that an app declares, and an event's one transaction: its row, its handler's writes, its jobs."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

from holdfast.domain.access import Principal
from holdfast.domain.error_text import message_of, type_name
from holdfast.domain.errors import BadInput, Configuration, DatabaseUnavailable, DeliveryNotFound
from holdfast.domain.redaction import scrubbed
from holdfast.domain.webhook import (
    ANY_TYPE,
    Delivery,
    Outcome,
    WebhookEvent,
    check_paths,
    hidden_texts,
    read_json,
)
from holdfast.runtime.failpoints import reach
from holdfast.runtime.logs import events
from holdfast.runtime.registry import is_async
from holdfast.runtime.threads import InTurn, in_own_thread
from holdfast.runtime.verifiers import Verifier
from holdfast.store import webhook as store
from holdfast.store.access import enter, record_action
from holdfast.store.call import Call
from holdfast.store.transaction import AsyncTransaction

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.link import Link

Handler: TypeAlias = Callable[[WebhookEvent, Any], Awaitable[object] | object]
After: TypeAlias = Callable[[WebhookEvent], Awaitable[object] | object]

LARGEST_BODY = 1024 * 1024
# A sender gives up after ten seconds (GitHub) or more, and comes again.
TIMEOUT = 8.0
KEEPING_TIMEOUT = 1.0
PER_SECOND = 1000.0
# By functions that are not async, at one endpoint: as many transactions are open at once.
HANDLED_AT_ONCE = 20
# Between tries when the database is away for a moment: a sender comes again after minutes only.
PATIENCE = (0.05, 0.2, 0.5)

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint: who may send, and what is done with which type of event."""

    name: str
    verify: Verifier
    on: Mapping[str, Handler]
    tenant: str | None
    largest: int
    timeout: float
    per_second: float
    redact: tuple[str, ...]
    after: After | None

    def handler(self, event_type: str) -> Handler | None:
        """Find who handles a type; "*" handles what no other does."""
        return self.on.get(event_type) or self.on.get(ANY_TYPE)


class Receiving:
    """The part of an app that other systems talk to."""

    link: "Link"
    webhooks: dict[str, Webhook]

    def webhook(
        self,
        name: str,
        *,
        verify: Verifier,
        on: Mapping[str, Handler],
        tenant: str | None = None,
        largest: int = LARGEST_BODY,
        timeout: float = TIMEOUT,
        per_second: float = PER_SECOND,
        redact: Sequence[str] = (),
        after: After | None = None,
    ) -> Webhook:
        """Take events at /webhooks/v1/<name>, and call a handler by the event's type with the event and a connection.

        What the handler writes through the connection, and the jobs it enqueues through it, commit with the event: once.
        `after` is called when the sender has been answered, for two seconds at most; what it does wrong changes nothing.
        """
        if not _NAME.fullmatch(name):
            raise Configuration(
                f"webhook {name!r}: a name has 1 to 63 lower-case letters, digits, - and _, for it stands in a URL"
            )
        if name in self.webhooks:
            raise Configuration(f"two webhooks are called {name!r}: give one of them another name")
        if not on or not all(callable(handler) for handler in on.values()):
            raise Configuration(
                f"webhook {name!r}: on= maps types of events to functions, or {ANY_TYPE!r} to one for all"
            )
        if tenant in {"", "*"}:
            raise Configuration(f"webhook {name!r}: {tenant!r} is no tenant that somebody can be bound to")
        if largest < 1 or timeout <= 0 or per_second <= 0:
            raise Configuration(f"webhook {name!r}: largest, timeout and per_second are more than 0")
        made = Webhook(
            name, verify, dict(on), tenant, largest, timeout, per_second, check_paths(redact), after
        )
        self.webhooks[name] = made
        return made


class Receiver:
    """Handles the events of one endpoint in one event loop."""

    def __init__(self, app: "Holdfast", webhook: Webhook) -> None:
        self._app = app
        self._webhook = webhook
        self._in_turn = InTurn(HANDLED_AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def receive(self, event: WebhookEvent) -> Outcome:
        """Handle a verified event once. Raises DatabaseUnavailable when it is not known to be; the sender comes again."""
        try:
            async with asyncio.timeout(self._webhook.timeout), self._lock(event.id):
                outcome = await self._insist(event)
        except TimeoutError as error:
            await self._keep_failure(event, error)
            raise DatabaseUnavailable(
                f"the event was not handled within {self._webhook.timeout:g} s"
            ) from error
        events.info(
            "webhook",
            extra={
                "endpoint": event.endpoint, "event_id": event.id, "type": event.type, "outcome": str(outcome),
            },
        )  # fmt: skip
        return outcome

    def _lock(self, event_id: str) -> asyncio.Lock:
        # Repeats of one event wait here for the first, and not each on a connection that other events need.
        return self._locks.setdefault(event_id, asyncio.Lock())

    async def _insist(self, event: WebhookEvent) -> Outcome:
        """Try again while the database is the trouble: its row makes an event count once, however often this is done."""
        for pause in (*PATIENCE, None):
            try:
                return await self._handle(event)
            except Exception as error:
                if isinstance(error, DatabaseUnavailable) and pause is None:
                    raise
                if pause is None or not store.is_passing(error):
                    await self._keep_failure(event, error)
                    break
                await asyncio.sleep(pause)
        return Outcome.FAILED

    async def _handle(self, event: WebhookEvent) -> Outcome:
        handler = self._webhook.handler(event.type)
        if handler is not None and not is_async(handler):
            return await self._in_turn.run(self._handle_sync, event, handler)
        async with self._app.link.atransaction() as transaction:
            taken = await transaction.perform(store.begin_webhook(event, _status(handler)))
            if taken is None:
                return Outcome.REPEATED
            if handler is not None:
                done: Any = handler(_as_taken(event, taken), transaction.connection)
                await done
            reach("webhook_handled")
        reach("webhook_committed")
        return Outcome(_status(handler))

    def _handle_sync(self, event: WebhookEvent, handler: Handler) -> Outcome:
        with self._app.link.transaction() as transaction:
            taken = transaction.perform(store.begin_webhook(event, "handled"))
            if taken is None:
                return Outcome.REPEATED
            handler(_as_taken(event, taken), transaction.connection)
            reach("webhook_handled")
        reach("webhook_committed")
        return Outcome.HANDLED

    async def _keep_failure(self, event: WebhookEvent, error: Exception) -> None:
        hidden = hidden_texts(event.body, self._webhook.redact)
        said = scrubbed(f"{type_name(error)}: {message_of(error, 1000)}", hidden)
        events.error(
            "webhook:failed", exc_info=error,
            extra={"endpoint": event.endpoint, "event_id": event.id, "type": event.type},
        )  # fmt: skip
        try:
            async with asyncio.timeout(KEEPING_TIMEOUT):
                await self._app.link.aperform_once(store.fail_webhook(event, said))
        except (DatabaseUnavailable, TimeoutError):
            events.warning(
                "webhook:failure_not_kept", extra={"endpoint": event.endpoint, "event_id": event.id}
            )


def _as_taken(event: WebhookEvent, delivery_id: UUID) -> WebhookEvent:
    """Give the event with its row's id: one that failed before has the row of then."""
    return event if event.delivery_id == delivery_id else replace(event, delivery_id=delivery_id)


def _status(handler: Handler | None) -> store.DeliveryStatus:
    return "ignored" if handler is None else "handled"


# -- replay ----------------------------------------------------------------------------------------------------------------


async def replay_within(
    app: "Holdfast", transaction: AsyncTransaction, delivery: Delivery, actor: str
) -> list[UUID]:
    """Call a delivery's handler again, in a transaction of the caller's; answers the jobs that it made."""
    handler = _handler_of(app, delivery)
    raw = await transaction.perform(store.delivery_body(delivery.id))
    number = await transaction.perform(store.begin_replay(delivery.id, actor))
    await transaction.perform(store.leave())
    event = _event_of(delivery, raw, number)
    if is_async(handler):
        done: Any = handler(event, transaction.connection)
        await done
    else:
        await transaction.in_thread(in_own_thread, lambda lent: handler(event, lent.connection))
    return await transaction.perform(store.end_replay(delivery.id))


async def replay(app: "Holdfast", delivery_id: UUID, actor: str, reason: str | None = None) -> list[UUID]:
    """Call a delivery's handler again, and say so in the audit; answers the jobs that it made."""
    async with app.link.atransaction() as transaction:
        await transaction.perform(enter("*"))
        delivery = await transaction.perform(store.find_delivery(delivery_id))
        if delivery is None:
            raise DeliveryNotFound(f"no delivery has the id {delivery_id}")
        jobs = await replay_within(app, transaction, delivery, actor)
        await transaction.perform(enter("*"))  # the handler acted for its endpoint
        await transaction.perform(_record(delivery, actor, reason, jobs))
    return jobs


def _record(delivery: Delivery, actor: str, reason: str | None, jobs: list[UUID]) -> Call[None]:
    principal = Principal(actor, frozenset(), delivery.tenant)
    data = {"jobs": [str(job) for job in jobs]}
    return record_action(principal, None, "delivery.replay", str(delivery.id), reason, data)


def _handler_of(app: "Holdfast", delivery: Delivery) -> Handler:
    webhook = app.webhooks.get(delivery.endpoint)
    handler = None if webhook is None else webhook.handler(delivery.type)
    if handler is None:
        raise BadInput(f"nothing in this app handles {delivery.type} of webhook {delivery.endpoint!r}")
    return handler


def _event_of(delivery: Delivery, raw: bytes, number: int | None) -> WebhookEvent:
    if number is None:
        raise DeliveryNotFound(f"delivery {delivery.id} is gone")
    return WebhookEvent(
        delivery.endpoint, delivery.event_id, delivery.type, read_json(raw), raw, delivery.id, delivery.tenant, number,
    )  # fmt: skip
