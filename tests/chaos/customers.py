"""Who uses the app while the nemesis strikes: customers who enqueue and cancel, people who decide, senders of webhooks, outside runs,
a reader of events. Each writes down what it asked, before, and what it was answered: ok, refused, or unknown.

A process of its own, with the doors for webhooks and callbacks: `python -m chaos.customers SEED RATE SUBJECTS`. It says its address, and
is told `stop` (ask for nothing new, go on deciding and reporting) and `end` (read all events there are, and leave).
"""

import hashlib
import hmac
import json
import os
import queue
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.serving import NO_TLS, served
from chaos import app as work
from chaos.notes import Notes, Wanted
from chaos.offer import offer_of
from holdfast import DatabaseUnavailable, HoldfastError, chain, group
from holdfast.domain.callback import Token, read_token
from holdfast.domain.job import NewJob
from holdfast.domain.signature import sign
from holdfast.server import callbacks, webhooks

Outcome = Literal["ok", "refused", "unknown"]
PRODUCERS = 3
# How often each kind is asked for; what is not here comes by other doors: webhooks, the clock, the nemesis.
KINDS = {
    "plain": 30,
    "writes": 20,
    "writes_in_thread": 5,
    "stumbles": 8,
    "fails": 2,
    "steps": 8,
    "asks": 4,
    "runs_elsewhere": 4,
    "awaits": 4,
    "gathers": 4,
    "flow": 3,
    "in_room": 5,
    "at_desk": 5,
    "long": 6,
}
MOSTLY_PLAIN = {**KINDS, "plain": 200}  # for many jobs a second


class Customers:
    """All of them, as threads of one process."""

    def __init__(self, folder: Path, seed: int, rate: float, subjects: float) -> None:
        self.offer = offer_of(rate)
        self._kinds = KINDS if self.offer.at_once == 1 else MOSTLY_PLAIN
        self._subjects = subjects  # the share of jobs whose events somebody reads
        self._chance = random.Random(seed)
        self._notes = Notes(folder / "client-log")
        self._seen = Notes(folder / "feed-notes")
        self._recent: deque[UUID] = deque(maxlen=200)
        self._long: deque[UUID] = deque(maxlen=8)
        self._keys: dict[str, str] = {}
        self._runs: queue.Queue[tuple[str, int]] = queue.Queue()
        self._started_runs: set[str] = set()
        self._numbers = iter(range(10**9))
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._read_to: dict[str, int] = {}
        self._threads: list[threading.Thread] = []

    def _tell(self, **facts: Any) -> None:
        self._notes.write(at=time.time(), **facts)

    # -- asking ----------------------------------------------------------------------------------------------------------

    def _ask(
        self, what: str, about: Any, ask: Callable[[], Any], wanted: Sequence[Wanted] = (), **facts: Any
    ) -> Outcome:
        """Do it, with a note before, which says what is wanted, and one after."""
        told = {"wanted": [one._asdict() for one in wanted]} if wanted else {}
        self._tell(what=what, about=about, outcome="asked", **told, **facts)
        try:
            answer = ask()
        except DatabaseUnavailable:
            outcome, said = "unknown", None
        except HoldfastError as refusal:
            outcome, said = "refused", type(refusal).__name__
        else:
            outcome, said = "ok", str(answer) if isinstance(answer, str) else None
        self._tell(what=what, about=about, outcome=outcome, said=said, **facts)
        return outcome  # type: ignore[return-value]

    def _produce(self, number: int) -> None:
        chance = random.Random(self._chance.random() + number)
        pause = PRODUCERS / self.offer.requests
        due = time.monotonic()
        while not self._stopped.is_set():
            self._enqueue(chance)
            # Who was held up does not make up for it: the rate is what is offered, never more.
            due = max(due + pause, time.monotonic() - pause)
            self._stopped.wait(max(due - time.monotonic(), 0))

    def _enqueue(self, chance: random.Random) -> None:
        kind = chance.choices(list(self._kinds), weights=list(self._kinds.values()))[0]
        keys = [self._key(kind, chance) for _ in range(self.offer.at_once)]
        keys = [None if key in keys[:place] else key for place, key in enumerate(keys)]
        asked = [one for key in keys for one in self._jobs(kind, key, chance)]
        jobs, wanted = [job for job, _ in asked], [one for _, one in asked]
        ids = [str(job.id) for job in jobs]
        outcome: Outcome = "unknown"
        for _ in range(3):  # a customer who is told nothing asks again for the same
            if outcome == "unknown":
                outcome = self._ask(
                    "enqueue", ids, lambda: work.app.enqueue_many(jobs) and None, wanted, kind=kind, keys=keys
                )
        if outcome != "refused":
            (self._long if kind == "long" else self._recent).append(jobs[0].id)

    def _jobs(self, kind: str, key: str | None, chance: random.Random) -> list[tuple[NewJob, Wanted]]:
        """Make what a customer asks for at once, and say what it is."""
        options: dict[str, Any] = {"tenant": chance.choice((None, "acme", "globex", "initech"))}
        if chance.random() < self._subjects:
            options["subject"] = f"chaos:{chance.randrange(8)}"
        if key is not None:
            options |= {"key": key, "key_scope": "ever", "on_conflict": "raise"}
        if chance.random() < 0.1:
            options["run_in"] = chance.uniform(0.1, 2.0)
        if kind == "flow":
            return _flow(options.get("subject"))
        if kind == "awaits":  # with whom it waits for, so that both come at once
            number = {"number": next(self._numbers)}
            return [_job("awaits", number, **options), _job("says", number)]
        return [_job("plain" if kind == "long" else kind, self._payload(kind, chance), **options)]

    def _key(self, kind: str, chance: random.Random) -> str | None:
        """Give some jobs a key, mostly a new one; or that which somebody else has just taken, or is just taking, for the like."""
        if kind in {"flow", "awaits"} or chance.random() < 0.7:
            return None
        if chance.random() < 0.7 or kind not in self._keys:
            self._keys[kind] = f"k{next(self._numbers)}"
        return self._keys[kind]

    def _payload(self, kind: str, chance: random.Random) -> dict[str, float]:
        short = {"seconds": round(chance.expovariate(100), 4)}
        payloads: dict[str, dict[str, float]] = {
            "long": {"seconds": round(chance.uniform(0.5, 4.0), 2)},
            "stumbles": {"times": chance.randrange(3)},
            "fails": {},
            "in_room": {"room": chance.randrange(4), **short},
            "at_desk": {"desk": chance.randrange(3), **short},
            "asks": {"number": next(self._numbers)},
            "gathers": {"number": next(self._numbers)},
            "runs_elsewhere": {"number": next(self._numbers)},
        }
        return payloads.get(kind, short)

    def _cancel(self) -> None:
        chance = random.Random(self._chance.random())
        while not self._stopped.wait(max(20 / self.offer.requests, 0.2)):
            # Every other is of a job that takes long, so that some meet one that runs.
            if known := list(self._long if chance.random() < 0.5 else self._recent):
                job = chance.choice(known)
                self._ask("cancel", str(job), lambda job=job: str(work.app.cancel(job)))  # type: ignore[misc]

    # -- deciding --------------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        chance = random.Random(self._chance.random())
        while not self._ended.wait(0.1):
            try:
                found = work.app.approvals.list(limit=50)
            except HoldfastError:
                continue
            for one in found:
                actor, verdict = f"person-{chance.randrange(3)}", chance.choice(("approve",) * 4 + ("deny",))
                decide: Any = getattr(work.app.approvals, verdict)
                self._ask(
                    "decide",
                    str(one.id),
                    lambda decide=decide, one=one, actor=actor: (  # type: ignore[misc]
                        decide(one.id, actor=actor, reason="as chance will") and None
                    ),
                    job=str(one.job_id),
                    verdict=verdict,
                    actor=actor,
                )

    # -- outside runs ----------------------------------------------------------------------------------------------------

    async def start_run(self, request: Request) -> Response:
        """Take a run: one per key, as an executor's receiver must."""
        key, told = request.headers["idempotency-key"], await request.json()
        if key not in self._started_runs:
            self._started_runs.add(key)
            number = told["inputs"]["number"]
            self._tell(what="run", about=key, outcome="ok", job=told["job_id"], number=number)
            self._runs.put((told["callback_url"], number))
        return JSONResponse({"run_id": hashlib.sha256(key.encode()).hexdigest()[:16]})

    def _report(self) -> None:
        chance = random.Random(self._chance.random())
        with httpx.Client(verify=NO_TLS, trust_env=False, timeout=20) as client:
            while not self._ended.is_set():
                try:
                    url, number = self._runs.get(timeout=0.1)
                except queue.Empty:
                    continue
                job, attempt, claim = url.split("/")[-3:]
                token = read_token(job, attempt, claim)
                assert token is not None
                if self._callback(client, url, token, "started", {}) == "ok":
                    # A run takes its time: ends that follow at once would hardly ever be what a cut meets first.
                    self._ended.wait(chance.expovariate(8))
                    self._callback(
                        client, url, token, "completed", {"result": {"run": number, "token": str(token)}}
                    )

    def _callback(
        self, client: httpx.Client, url: str, token: Token, action: str, facts: dict[str, Any]
    ) -> Outcome:
        """Report until somebody answers, with the same id every time."""
        nonce = uuid4().hex
        told = {
            "action": action,
            "job_id": str(token.job_id),
            "attempt": token.attempt,
            "claim_id": str(token.claim_id),
            **facts,
        }
        body = json.dumps(told).encode()

        def report() -> Outcome:
            now = int(time.time())
            headers = {
                "webhook-id": nonce,
                "webhook-timestamp": str(now),
                "webhook-signature": sign(work.SECRET, token, nonce, now, body),
            }
            return self._post(
                client,
                url,
                body,
                headers,
                what="callback",
                about=str(token),
                action=action,
                job=str(token.job_id),
            )

        while (outcome := report()) == "unknown" and not self._ended.wait(0.2):
            pass
        return outcome

    def _post(
        self, client: httpx.Client, url: str, body: bytes, headers: dict[str, str], **facts: Any
    ) -> Outcome:
        """Send it once, with a note before and one after; nothing else that is sent has their number."""
        facts["request"] = next(self._numbers)
        self._tell(outcome="asked", **facts)
        outcome = _posted(client, url, body, headers)
        self._tell(outcome=outcome, **facts)
        return outcome

    # -- webhooks --------------------------------------------------------------------------------------------------------

    def _send_events(self, url: str) -> None:
        chance = random.Random(self._chance.random())
        with (
            httpx.Client(verify=NO_TLS, trust_env=False, timeout=20) as client,
            ThreadPoolExecutor(3) as senders,
        ):
            while not self._stopped.wait(max(30 / self.offer.requests, 0.1)):
                event = f"evt_{next(self._numbers)}"
                body = json.dumps({"id": event, "type": "paid"}).encode()
                signature = hmac.new(work.WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
                forged = chance.random() < 0.1
                headers = {"X-Signature": "0" * 64 if forged else signature}
                send = partial(
                    self._post,
                    client,
                    f"{url}/webhooks/v1/shop",
                    body,
                    headers,
                    what="webhook",
                    about=event,
                    forged=forged,
                )
                for _ in range(50):
                    sent = [senders.submit(send) for _ in range(chance.choice((1, 1, 3)))]
                    if {one.result() for one in sent} != {"unknown"} or self._ended.wait(0.2):
                        break

    # -- reading ---------------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._ended.wait(0.3):
            self._read_all()

    def _read_all(self) -> bool:
        try:
            for channel in [
                *(f"subject:chaos:{n}" for n in range(8)),
                *(f"subject:{subject}" for subject in work.SUBJECTS.values()),
            ]:
                for event in work.app.feed(channel, after=self._read_to.get(channel, 0)):
                    self._seen.write(
                        channel=channel,
                        id=event.id,
                        kind=event.kind,
                        job=str(event.job_id),
                        seq=event.data.get("seq"),
                    )
                    self._read_to[channel] = event.id
        except HoldfastError:
            return False
        return True

    # -- life ------------------------------------------------------------------------------------------------------------

    def _run(self, loop: Callable[..., None], *arguments: Any) -> None:
        def guarded() -> None:
            try:
                loop(*arguments)
            except BaseException as error:  # a customer who gives up would be missed by nobody
                self._tell(what="customer died", about=loop.__name__, outcome="unknown", said=repr(error))
                raise

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        self._threads.append(thread)

    def live(self, url: str) -> None:
        """Be there until told to end."""
        for number in range(PRODUCERS):
            self._run(self._produce, number)
        for _ in range(3):
            self._run(self._report)
        self._run(self._cancel)
        for _ in range(2):  # who are asked the same
            self._run(self._decide)
        self._run(self._send_events, url)
        self._run(self._follow)
        for line in sys.stdin:
            if line.strip() == "stop":
                self._stopped.set()
            else:
                break
        else:
            os._exit(1)  # whoever started this was killed, and the database with it
        self._stopped.set()
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        while not self._read_all():
            time.sleep(0.1)


def _job(task: str, payload: dict[str, Any], **options: Any) -> tuple[NewJob, Wanted]:
    """Make a job, and say what it is."""
    said: dict[str, Any] = {name: options.get(name) for name in ("tenant", "key", "subject", "run_in")}
    return work.app.tasks[task].using(**options).job(**payload), Wanted(task, payload, **said)


def _flow(subject: str | None) -> list[tuple[NewJob, Wanted]]:
    """One, then three side by side, then one more."""
    made = [_job("adds", {"number": number}, subject=subject) for number in range(5)]
    first, *middle, last = [job for job, _ in made]
    after = [(), *[(first.id,)] * 3, tuple(job.id for job in middle)]
    return [
        (job, wanted._replace(after=tuple(map(str, needs))))
        for job, (_, wanted), needs in zip(chain(first, group(middle, then=last)), made, after, strict=True)
    ]


def _posted(client: httpx.Client, url: str, body: bytes, headers: dict[str, str]) -> Outcome:
    try:
        answer = client.post(url, content=body, headers=headers)
    except httpx.HTTPError:
        return "unknown"
    if answer.is_success:
        return "ok"
    return "refused" if answer.is_client_error else "unknown"


@contextmanager
def doors(customers: Customers) -> Iterator[str]:
    """Open what outside systems reach: the place where runs start, callbacks, webhooks."""
    machine: Any = Starlette(routes=[Route("/machine", customers.start_run, methods=["POST"])])
    reports, hooks = callbacks(work.app), webhooks(work.app)

    async def door(scope: dict[str, Any], receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        chosen = (
            hooks if path.startswith("/webhooks/") else reports if path.startswith("/callbacks/") else machine
        )
        await chosen(scope, receive, send)

    with served(door) as url:
        yield url


def main() -> None:
    seed, rate, subjects = sys.argv[1:4]
    customers = Customers(Path(os.environ["CHAOS_FOLDER"]), int(seed), float(rate), float(subjects))
    with doors(customers) as url:
        os.write(1, url.encode() + b"\n")
        customers.live(url)
    work.app.close()


if __name__ == "__main__":
    main()
