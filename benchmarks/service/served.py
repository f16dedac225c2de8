"""What is measured, each in a process of its own: `python -m benchmarks.service.served NAME [PROCESSES]` prints its port and serves until SIGTERM.

All are served by Holdfast's own server; `constant` does nothing else than read a request and answer, and `by_hand` handles an event
with Stripe's library, psycopg and plain tables.
"""

import asyncio
import hashlib
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from stripe import WebhookSignature

from holdfast import Holdfast
from holdfast.interfaces.http.processes import Processes, inherited_listener
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


class ByHand:
    """An event as one would write it without Holdfast: the same rows in one transaction, and nothing that guards them."""

    TABLES = """
        create table public.event_by_hand (event_id text primary key, body bytea not null, at timestamptz not null default now());
        create table public.job_by_hand (id uuid primary key, task text not null, payload jsonb not null, at timestamptz not null default now());
    """

    def __init__(self) -> None:
        self._idle: list[psycopg.AsyncConnection[Any]] = []

    async def take(self, request: Request) -> Response:
        """Answer one event when its rows are committed."""
        body = await request.body()
        WebhookSignature.verify_header(body.decode(), request.headers["stripe-signature"], SECRET, 300)
        event = json.loads(body)
        connection = self._idle.pop() if self._idle else await self._connect()
        async with connection.transaction():
            await connection.execute(
                "insert into public.event_by_hand (event_id, body) values (%s, %s)", (event["id"], body)
            )
            agent = event["data"]["object"]["agentId"]
            await connection.execute(
                "insert into public.subscription (event_id, agent_id) values (%s, %s)", (event["id"], agent)
            )
            await connection.execute(
                "insert into public.job_by_hand (id, task, payload) values (%s, 'provision', %s)",
                (uuid.uuid4(), json.dumps({"agent_id": agent})),
            )
        self._idle.append(connection)
        return Response(b'{"received":true,"repeat":false}', media_type="application/json")

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(os.environ["HOLDFAST_DATABASE_URL"], autocommit=True)


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
        case "by_hand":
            return Starlette(routes=[Route(WEBHOOK, ByHand().take, methods=["POST"])])
        case "webhooks":
            return webhooks(app)
        case _:
            return asgi(app, [name])


if __name__ == "__main__":
    inherited, count = inherited_listener(), int((sys.argv[2:] or ["1"])[0])
    listener = inherited or listen("127.0.0.1", 0)
    if inherited is None:
        print(listener.getsockname()[1], flush=True)
    if inherited is None and count > 1:
        sys.exit(Processes(listener, count, print).run())
    sys.exit(serve(_application(sys.argv[1]), listener))
