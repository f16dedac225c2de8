"""The service's run: webhooks at a rate, the API as fast as it answers, and a thousand streams, each beside a constant answer."""

import argparse
import asyncio
import contextlib
import datetime as dt
import hmac
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.children import ROOT
from benchmarks.server import Server, running_server
from benchmarks.service import load, report, streams
from benchmarks.service.load import written
from benchmarks.service.report import Sample
from benchmarks.service.served import JOBS, SECRET, WEBHOOK, ByHand, app, provision
from benchmarks.stolen import watched

from benchmarks import run as runs
from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.runtime.access import create_key
from holdfast.runtime.loop import run
from holdfast.store.connection import Database

# An event of Stripe's has two to four kilobytes.
ABOUT = {"agentId": "agent-1", "userId": "user-1", "note": "x" * 2000}
WARM_UP = 100
SENDERS = 8
KICK_RATE = 20
FILES = 8192
TRIES = 6
NO_LIMIT = {"HOLDFAST_RATE_LIMIT": "1000000"}  # one key asks for all

STARTS = """
select extract(epoch from started.at - born.at)::float * 1000
  from holdfast.job_history born
  join holdfast.job_history started on started.job_id = born.job_id and started.to_status = 'RUNNING'
 where born.seq = 1
 order by born.at
"""


class Served(NamedTuple):
    """A process that serves."""

    port: int
    pid: int


class Used(NamedTuple):
    """An app on a database of its own, and a key of its API as a header."""

    app: Holdfast
    database: str
    url: str
    key: dict[str, str]


class Case(NamedTuple):
    """One measurement: what it is called, and how its sample is taken of Holdfast and of the constant."""

    name: str
    of_us: Callable[[], Sample]
    of_the_constant: Callable[[], Sample] | None


def event(number: int) -> bytes:
    """Write a request as Stripe sends it."""
    about = {"id": f"evt_{number}", "type": "checkout.session.completed", "data": {"object": ABOUT}}
    body, now = json.dumps(about).encode(), str(int(time.time()))
    signature = hmac.digest(SECRET.encode(), now.encode() + b"." + body, "sha256").hex()
    return written("POST", WEBHOOK, {"Stripe-Signature": f"t={now},v1={signature}"}, body)


@contextlib.contextmanager
def child(*arguments: str, url: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a Python process beside the driver, and end it as an operator would."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env={**os.environ, **NO_LIMIT, "HOLDFAST_DATABASE_URL": url},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


@contextlib.contextmanager
def serving(name: str, url: str, processes: int = 1) -> Iterator[Served]:
    """Serve one of the applications of benchmarks.service.served."""
    with child("-m", "benchmarks.service.served", name, str(processes), url=url) as process:
        assert process.stdout is not None
        yield Served(int(process.stdout.readline()), process.pid)


class Bench:
    """The cases, each on a database of its own."""

    def __init__(self, server: Server, seconds: float, rate: float, readers: int) -> None:
        self._server = server
        self._seconds = seconds
        self._rate = rate
        self._readers = readers

    def cases(self) -> list[Case]:
        """Name what is measured."""
        constant = self._of_constant
        return [
            Case("webhook", self.webhook, constant(lambda port: run(self._send_events(port)))),
            Case("webhook, by hand", lambda: self.webhook(name="by_hand"), None),
            Case("webhook, two processes", lambda: self.webhook(2), None),
            Case("kick", self.kick, None),
            Case("enqueue", self.enqueue, constant(lambda port: self._ask(port, self._enqueue_request({})))),
            Case("job", self.job, constant(lambda port: self._ask(port, lambda _: written("GET", f"{JOBS}/1")))),
            Case("streams", self.streams, self.constant_streams),
        ]  # fmt: skip

    @contextlib.contextmanager
    def _app(self) -> Iterator[Used]:
        """Give an app on a new database."""
        with self._server.database() as name:
            app.connect_to(Database(self._server.url(name), "bench"))
            app.migrate()
            provision.enqueue("first")  # which makes the task known
            with self._server.connect(name) as connection:
                connection.execute(
                    "create table public.subscription (event_id text primary key, agent_id text)"
                )
                connection.execute(ByHand.TABLES)
            key = create_key(app, "bench", scopes=[Scope.ENQUEUE, Scope.READ])
            self._server.settle()
            yield Used(app, name, self._server.url(name), {"Authorization": f"Bearer {key}"})
            app.close()

    def _of_constant(self, measure: Callable[[int], Sample]) -> Callable[[], Sample]:
        def sample() -> Sample:
            with serving("constant", self._server.url("postgres")) as served:
                return measure(served.port)

        return sample

    async def _send_events(self, port: int) -> Sample:
        return load.percentiles(await load.at_rate(port, event, self._rate, self._seconds, WARM_UP))

    def webhook(self, processes: int = 1, name: str = "webhooks") -> Sample:
        """Send signed events, each a new one, whose handler writes a row and queues a job."""
        with self._app() as used, serving(name, used.url, processes) as served:
            return run(self._send_events(served.port))

    def kick(self) -> Sample:
        """Send slowly beside a worker that sleeps between events; gives how long jobs waited from birth to start."""
        worker = [
            "-m",
            "holdfast.interfaces.cli",
            "-q",
            "-a",
            "benchmarks.service.served:app",
            "worker",
            "--log-level",
            "error",
        ]
        with (
            self._app() as used,
            child(*worker, url=used.url),
            serving("webhooks", used.url) as served,
        ):
            run(load.at_rate(served.port, event, KICK_RATE, self._seconds, WARM_UP))
            time.sleep(1)
            with self._server.connect(used.database) as connection:
                waits = [row[0] for row in connection.execute(STARTS)]
        return load.percentiles(waits[WARM_UP + 1 :])

    def _ask(self, port: int, make: load.MakeRequest) -> Sample:
        return {"per_second": run(load.as_fast_as_answered(port, make, SENDERS, self._seconds))}

    def _enqueue_request(self, key: dict[str, str]) -> load.MakeRequest:
        body = json.dumps({"task": "provision", "payload": {"agent_id": "a"}}).encode()
        return lambda number: written("POST", JOBS, {"Idempotency-Key": f"bench-{number}", **key}, body)

    def enqueue(self) -> Sample:
        """Enqueue over the API with a key, one job a request."""
        with self._app() as used, serving("api", used.url) as served:
            return self._ask(served.port, self._enqueue_request(used.key))

    def job(self) -> Sample:
        """Look at one job over the API with a key."""
        with self._app() as used, serving("api", used.url) as served:
            answer = run(load.Connections(served.port).send(self._enqueue_request(used.key)(0)))
            path = f"{JOBS}/{json.loads(answer)['id']}"
            return self._ask(served.port, lambda _: written("GET", path, used.key))

    def streams(self) -> Sample:
        """Open all streams, publish, and end the server with all of them open."""
        with self._app() as used:
            return self._fan_out("live", used.url, used.app, used.key)

    def constant_streams(self) -> Sample:
        """Read as many streams of a server that only tells the time."""
        return self._fan_out("constant", self._server.url("postgres"), None, {})

    def _fan_out(self, name: str, url: str, app: Holdfast | None, key: dict[str, str]) -> Sample:
        with child("-m", "benchmarks.service.served", name, url=url) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline())

            async def read() -> Sample:
                sample = await streams.fan_out(port, process.pid, self._readers, self._seconds, app, key)
                # The constant's streams would keep it: uvicorn by itself waits for them.
                return sample if app is None else {**sample, **await asyncio.to_thread(ended, process)}

            return run(read())


def ended(process: "subprocess.Popen[str]") -> Sample:
    """Tell a server to stop while its streams are open; gives how it went."""
    began = time.monotonic()
    process.terminate()
    return {"exit_code": process.wait(30), "exit_seconds": time.monotonic() - began}


def measure(bench: Bench, repetitions: int) -> dict[str, list[Sample]]:
    """Take every sample, ours and the constant's in turn."""
    samples: dict[str, list[Sample]] = {}
    for _ in range(repetitions):
        for case in bench.cases():
            pair = [(case.name, case.of_us), (f"{case.name}, constant", case.of_the_constant)]
            for name, take in pair:
                if take is not None:
                    samples.setdefault(name, []).extend(taken(name, take))
    return samples


def taken(name: str, take: Callable[[], Sample]) -> Iterator[Sample]:
    """Take a sample, and again when the host took the processors away meanwhile: then it says nothing about us."""
    for _ in range(TRIES):
        with watched() as stolen:
            sample = take()
        sample = {**sample, "stolen": round(stolen.share, 4)}
        told = ", ".join(f"{key} {value:,.3f}" for key, value in sample.items())
        print(f"{time.monotonic() - runs.STARTED:6.0f} s  {name:<20} {told}", flush=True)
        yield sample
        if report.is_quiet(sample):
            return


def main() -> None:
    """Measure, write, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="scripts/bench --http", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8, help="of each sample (default 8)")
    parser.add_argument("--rate", type=float, default=300, help="webhooks a second (default 300)")
    parser.add_argument("--streams", type=int, default=1000)
    options = parser.parse_args()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (FILES, max(FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    )
    with running_server() as server:
        samples = measure(Bench(server, options.seconds, options.rate, options.streams), options.repetitions)
        results = {
            "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "commit": runs.commit(),
            "repetitions": options.repetitions, "machine": runs.machine(server.folder),
            "postgresql": server.settings(), "rate": options.rate, "streams": options.streams, "senders": SENDERS, "samples": samples,
        }  # fmt: skip
    is_whole = all(vars(options)[name] == parser.get_default(name) for name in vars(options))
    runs.publish("service", results, report.table(results), is_whole=is_whole)


if __name__ == "__main__":
    main()
