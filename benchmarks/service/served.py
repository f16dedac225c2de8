"""What is measured, each in a process of its own: `python -m benchmarks.service.served NAME` prints its port and serves until SIGTERM.

All are served by Holdfast's own server; `constant` does nothing else than read a request and answer.
"""

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from holdfast import Holdfast
from holdfast.interfaces.http.serving import listen, serve
from holdfast.server import Stripe, WebhookEvent, asgi, webhooks

SECRET = "whsec_" + hashlib.sha256(b"benchmark").hexdigest()
WEBHOOK = "/webhooks/v1/stripe"
JOBS = "/api/v1/jobs"
EVENTS = "/api/v1/events"
TICK = 0.1  # seconds

app = Holdfast()


@app.task()
async def provision(agent_id: str) -> None:
    """Stand for work."""


async def paid(event: WebhookEvent, conn: Any) -> None:
    """Write a row of the application's, and queue a job."""
    agent = event.body["data"]["object"]["agentId"]
    await conn.execute(
        "insert into public.subscription (event_id, agent_id) values (%s, %s)", (event.id, agent)
    )
    await provision.using(conn=conn).aenqueue(agent)


app.webhook("stripe", verify=Stripe(SECRET), on={"checkout.session.completed": paid})


async def _answer(request: Request) -> Response:
    await request.body()
    return Response(b'{"received":true,"repeat":false}', media_type="application/json")


class _Clock:
    """Ticks for all streams at once."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        self._line = b""

    async def lines(self) -> AsyncIterator[bytes]:
        """Give a line a tick, with the moment it was made."""
        if self._task is None:
            self._task = asyncio.create_task(self._tick())
        yield b"event: ready\n\n"
        while True:
            async with self._changed:
                await self._changed.wait()
            yield self._line

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._line = f"data: {json.dumps({'data': {'sent': time.time()}})}\n\n".encode()
            async with self._changed:
                self._changed.notify_all()


def _constant() -> Starlette:
    clock = _Clock()

    async def stream(_request: Request) -> Response:
        return StreamingResponse(clock.lines(), media_type="text/event-stream")

    return Starlette(
        routes=[
            Route(WEBHOOK, _answer, methods=["POST"]),
            Route(JOBS, _answer, methods=["POST"]),
            Route(JOBS + "/{job_id}", _answer),
            Route(EVENTS, stream),
        ]
    )


def _application(name: str) -> Any:
    match name:
        case "constant":
            return _constant()
        case "webhooks":
            return webhooks(app)
        case _:
            return asgi(app, [name])


if __name__ == "__main__":
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    sys.exit(serve(_application(sys.argv[1]), listener))
