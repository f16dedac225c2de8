"""Webhooks under load: how long a sender waits at a fixed rate, beside the same server answering a constant, and how soon a worker starts the job.

python -m benchmarks.webhooks [--rate 300] [--seconds 20]
Senders do not wait for each other: an event is sent at its time, whatever became of those before it.
"""

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
import uvloop
from benchmarks.children import ROOT
from benchmarks.server import Server, running_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast import Holdfast
from holdfast.server import Stripe, WebhookEvent, webhooks

SECRET = "whsec_" + hashlib.sha256(b"benchmark").hexdigest()
PATH = "/webhooks/v1/stripe"
WARM_UP = 100
ABOUT = {
    "agentId": "agent-1",
    "userId": "user-1",
    "note": "x" * 2000,
}  # an event of Stripe's has two to four kilobytes

STARTS = """
select percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from started.at - born.at) * 1000)
  from holdfast.job_history born
  join holdfast.job_history started on started.job_id = born.job_id and started.to_status = 'RUNNING'
 where born.seq = 1
"""

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


async def constant(request: Request) -> Response:
    """Answer what everybody is answered."""
    await request.body()
    return Response(b'{"received":true,"repeat":false}', media_type="application/json")


def serve(what: str) -> None:
    """Serve one of the two, and print its port."""
    door = (
        webhooks(app) if what == "webhooks" else Starlette(routes=[Route(PATH, constant, methods=["POST"])])
    )
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        # asyncio sets it only on sockets that name their protocol; without it an answer waits 40 ms for the sender's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(listening.getsockname()[1], flush=True)
        uvloop.run(uvicorn.Server(uvicorn.Config(door, log_level="critical")).serve([listening]))


@contextlib.contextmanager
def child(*arguments: str, url: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "HOLDFAST_DATABASE_URL": url}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def request(number: int) -> bytes:
    """Write a request as Stripe sends it."""
    about = {"id": f"evt_{number}", "type": "checkout.session.completed", "data": {"object": ABOUT}}
    body, now = json.dumps(about).encode(), str(int(time.time()))
    signature = hmac.digest(SECRET.encode(), now.encode() + b"." + body, "sha256").hex()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"Stripe-Signature: t={now},v1={signature}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connections:
    """Connections that are kept, and made when none is free."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, sent: bytes) -> int:
        """Send a request and read its answer's status."""
        reader, writer = (
            self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
        )
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        self._idle.append((reader, writer))
        return int(head.split(None, 2)[1])


async def measure(port: int, rate: float, seconds: float) -> dict[str, float]:
    """Send at a rate; gives percentiles in milliseconds, counted from the moment at which each was to be sent."""
    connections, waits = Connections(port), []
    for number in range(WARM_UP):
        await connections.send(request(-number - 1))

    async def send(number: int, at: float) -> None:
        status = await connections.send(request(number))
        if status != 200:
            raise SystemExit(f"bench: event {number} was answered {status}")
        waits.append((time.perf_counter() - at) * 1000)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as senders:
        for number in range(int(rate * seconds)):
            at = began + number / rate
            await asyncio.sleep(max(at - time.perf_counter(), 0))
            senders.create_task(send(number, at))
    waits.sort()
    return {name: round(waits[int(len(waits) * share)], 2) for name, share in (("p50", 0.5), ("p99", 0.99))}


def run(what: str, url: str, rate: float, seconds: float) -> dict[str, float]:
    with child("-m", "benchmarks.webhooks", "--serve", what, url=url) as server:
        assert server.stdout is not None
        return asyncio.run(measure(int(server.stdout.readline()), rate, seconds))


def with_a_worker(server: Server, name: str, rate: float, seconds: float) -> dict[str, float]:
    """Send slowly beside a worker that sleeps between events; gives how long a job waited from its birth to its start."""
    with child(
        "-m", "holdfast.interfaces.cli", "-q", "-a", "benchmarks.webhooks:app", "worker", url=server.url(name)
    ):
        run("webhooks", server.url(name), rate, seconds)
        time.sleep(1)
        with server.connect(name) as connection:
            row = connection.execute(STARTS).fetchone()
    return {"p50": round(row[0][0], 2), "p99": round(row[0][1], 2)} if row and row[0] else {}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--serve", choices=["webhooks", "constant"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    with running_server() as server, server.database() as loaded, server.database() as worked:
        for name in (loaded, worked):
            Holdfast(server.url(name)).migrate()
            with server.connect(name) as connection:
                connection.execute(
                    "create table public.subscription (event_id text primary key, agent_id text)"
                )
        limit = run("constant", server.url(loaded), options.rate, options.seconds)
        ours = run("webhooks", server.url(loaded), options.rate, options.seconds)
        starts = with_a_worker(server, worked, 20, options.seconds)
    print(
        json.dumps({
            "rate": options.rate, "constant_ms": limit, "webhook_ms": ours,
            "ratio_p99": round(ours["p99"] / limit["p99"], 1), "start_ms": starts,
        }, indent=2)
    )  # fmt: skip


if __name__ == "__main__":
    main()
