"""The door that other systems bring their events to: nothing is believed before its signature, and 2xx is said after commit."""

import asyncio
import hmac
import inspect
import math
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.bucket import Bucket
from holdfast.domain.errors import BadInput
from holdfast.domain.webhook import Outcome, SignedRequest, WebhookEvent, checked_name, read_json
from holdfast.interfaces.http import body as bodies
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.interfaces.http.serve import answered
from holdfast.runtime.logs import events
from holdfast.runtime.threads import InTurn
from holdfast.runtime.webhooks import LARGEST_BODY, Receiver, Webhook
from holdfast.store.ids import new_id

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

PATH = "/webhooks/v1/{endpoint}"
SLOWEST_BODY = 10.0
AFTER_LIMIT = 2.0
AFTER_AT_ONCE = 20
# What a stranger's request is signed with at an endpoint that nobody declared: it costs work too, and gets the same answer.
_NOBODYS_SECRET = b"no endpoint has this secret, and nobody signs with it"


class Endpoint:
    """One webhook's door."""

    def __init__(self, app: "Holdfast", webhook: Webhook) -> None:
        self.webhook = webhook
        # Once, and now: a missing or weak secret shows when the server starts, not when the first event is refused.
        self._secrets = webhook.verify.secrets(webhook.name)
        self._receiver = Receiver(app, webhook)
        self._in_turn = InTurn(AFTER_AT_ONCE)
        self._bucket = Bucket(webhook.per_second, max(webhook.per_second, 1.0))

    async def take(self, request: SignedRequest) -> Response:
        """Answer one event."""
        if not self.webhook.verify.verify(request, self._secrets):
            raise Refusal(problems.UNAUTHORIZED)
        # After the signature: a stranger cannot use up what the sender may send.
        wait = self._bucket.take(time.monotonic())
        if wait:
            raise Refusal(problems.TOO_MANY, headers={"Retry-After": str(math.ceil(wait))})
        event = self._read(request)
        outcome = await self._receiver.receive(event)
        if outcome is Outcome.FAILED:  # whatever a handler raised: the sender is to come again
            raise Refusal(problems.INTERNAL)
        told = b'{"received":true,"repeat":%s}' % (b"true" if outcome is Outcome.REPEATED else b"false")
        response = answered(HTTPStatus.OK, told, {})
        if self.webhook.after is not None and outcome is Outcome.HANDLED:
            response.background = BackgroundTask(self._after, event)
        return response

    def _read(self, request: SignedRequest) -> WebhookEvent:
        body = read_json(request.body)
        name = checked_name(self.webhook.verify.name(request, body))
        return WebhookEvent(
            self.webhook.name, name.id, name.type, body, request.body, new_id(), self.webhook.tenant
        )

    async def _after(self, event: WebhookEvent) -> None:
        after = self.webhook.after
        assert after is not None  # noqa: S101 - it was there when the task was made
        try:
            async with asyncio.timeout(AFTER_LIMIT):
                done = after(event) if inspect.iscoroutinefunction(after) else self._in_turn.run(after, event)
                if inspect.isawaitable(done):
                    await done
        except Exception as error:  # noqa: BLE001 - the event is handled and answered, whatever comes now
            events.warning("webhook:after_failed", exc_info=error, extra={"endpoint": event.endpoint})


class Webhooks:
    """All endpoints of an app."""

    def __init__(self, app: "Holdfast") -> None:
        self._endpoints = {name: Endpoint(app, webhook) for name, webhook in app.webhooks.items()}

    async def take(self, request: Request) -> Response:
        """Answer one request; a refusal says nothing that helps a forger."""
        name = request.path_params["endpoint"]
        try:
            return await self._take(request, name)
        except Refusal as refusal:
            events.info("webhook:refused", extra={"endpoint": name[:63], "problem": refusal.type.name})
            return refusal.response
        except BadInput as error:  # signed, and still not to be understood: its sender may know what is wrong
            return Refusal(problems.INVALID, str(error)[:300]).response
        except Exception as error:  # noqa: BLE001 - nothing may reach the sender that says how we work inside
            return refusal_of(error).response

    async def _take(self, request: Request, name: str) -> Response:
        endpoint = self._endpoints.get(name)
        body = await _read_body(request, LARGEST_BODY if endpoint is None else endpoint.webhook.largest)
        if endpoint is None:
            hmac.digest(_NOBODYS_SECRET, body, "sha256")
            raise Refusal(problems.UNAUTHORIZED)
        return await endpoint.take(SignedRequest.of(request.headers.items(), body, time.time()))


async def _read_body(request: Request, largest: int) -> bytes:
    if request.headers.get("content-encoding", "identity") != "identity":
        # Unpacking comes before the signature or not at all, and a small body can unpack to a huge one.
        raise Refusal(problems.WRONG_MEDIA_TYPE, "send the body as it is, without Content-Encoding")
    try:
        _refuse_announced(request, largest)
        return await bodies.read_body(request, largest, SLOWEST_BODY)
    except bodies.TooLarge:
        raise Refusal(problems.TOO_LARGE) from None
    except (bodies.TooSlow, ClientDisconnect):
        raise Refusal(problems.TOO_SLOW) from None


def _refuse_announced(request: Request, largest: int) -> None:
    """Refuse a body that is said to be too large before any of it is read."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > len(str(largest)) or int(length) > largest):
        raise bodies.TooLarge


def webhook_routes(app: "Holdfast", _access: Access) -> list[BaseRoute]:
    """Give the door for an app's webhooks; their signatures say who comes."""
    door = Webhooks(app)

    async def take(request: Request) -> Response:
        return await door.take(request)

    return [Route(PATH, take, methods=["POST"])]
