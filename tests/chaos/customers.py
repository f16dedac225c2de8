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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from chaos.notes import Notes
from holdfast import DatabaseUnavailable, HoldfastError, chain, group
from holdfast.domain.callback import Token, read_token
from holdfast.domain.job import NewJob
from holdfast.domain.signature import sign
from holdfast.server import callbacks, webhooks

Outcome = Literal["ok", "refused", "unknown"]
PRODUCERS = 3
REQUESTS = 100  # a second at most: who wants more jobs than that asks for several at once
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
    "flow": 3,
    "in_room": 5,
    "at_desk": 5,
    "long": 6,
}
MOSTLY_PLAIN = {**KINDS, "plain": 200}  # for many jobs a second


class Customers:
    """All of them, as threads of one process."""

    def __init__(self, folder: Path, seed: int, rate: float, subjects: float) -> None:
        self._rate = min(rate, REQUESTS)
        self._at_once = max(round(rate / REQUESTS), 1)
        self._kinds = KINDS if rate <= REQUESTS else MOSTLY_PLAIN
        self._subjects = subjects  # the share of jobs whose events somebody reads
        self._chance = random.Random(seed)
        self._notes = Notes(folder / "client-log")
        self._seen = Notes(folder / "feed-notes")
        self._recent: deque[UUID] = deque(maxlen=200)
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

    def _ask(self, what: str, about: Any, ask: Callable[[], Any], **facts: Any) -> Outcome:
        """Do it, with a note before and one after."""
        self._tell(what=what, about=about, outcome="asked", **facts)
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
        pause = PRODUCERS / self._rate
        due = time.monotonic()
        while not self._stopped.is_set():
            self._enqueue(chance)
            # Who was held up does not make up for it: the rate is what is offered, never more.
            due = max(due + pause, time.monotonic() - pause)
            self._stopped.wait(max(due - time.monotonic(), 0))

    def _enqueue(self, chance: random.Random) -> None:
        kind = chance.choices(list(self._kinds), weights=list(self._kinds.values()))[0]
        keys = [self._key(kind, chance) for _ in range(self._at_once)]
        keys = [None if key in keys[:place] else key for place, key in enumerate(keys)]
        jobs = [job for key in keys for job in self._jobs(kind, key, chance)]
        ids = [str(job.id) for job in jobs]
        outcome: Outcome = "unknown"
        for _ in range(3):  # a customer who is told nothing asks again for the same
            if outcome == "unknown":
                outcome = self._ask(
                    "enqueue", ids, lambda: work.app.enqueue_many(jobs) and None, kind=kind, keys=keys
                )
        if outcome != "refused":
            self._recent.append(jobs[0].id)

    def _jobs(self, kind: str, key: str | None, chance: random.Random) -> list[NewJob]:
        options: dict[str, Any] = {"tenant": chance.choice((None, "acme", "globex", "initech"))}
        if chance.random() < self._subjects:
            options["subject"] = f"chaos:{chance.randrange(8)}"
        if key is not None:
            options |= {"key": key, "key_scope": "ever", "on_conflict": "raise"}
        if chance.random() < 0.1:
            options["run_in"] = chance.uniform(0.1, 2.0)
        if kind == "flow":
            add = work.adds.using(subject=options.get("subject"))
            return chain(add.job(0), group([add.job(n) for n in (1, 2, 3)], then=add.job(4)))
        if kind == "awaits":  # with whom it waits for, so that both come at once
            number = next(self._numbers)
            return [work.awaits.using(**options).job(number), work.says.job(number)]
        task = work.app.tasks["plain" if kind == "long" else kind]
        return [task.using(**options).job(*self._payload(kind, chance))]

    def _key(self, kind: str, chance: random.Random) -> str | None:
        """Give some jobs a key, mostly a new one; or that which somebody else has just taken, or is just taking, for the like."""
        if kind in {"flow", "awaits"} or chance.random() < 0.7:
            return None
        if chance.random() < 0.7 or kind not in self._keys:
            self._keys[kind] = f"k{next(self._numbers)}"
        return self._keys[kind]

    def _payload(self, kind: str, chance: random.Random) -> tuple[float, ...]:
        short = round(chance.expovariate(100), 4)
        payloads: dict[str, tuple[float, ...]] = {
            "long": (round(chance.uniform(0.5, 4.0), 2),),
            "stumbles": (chance.randrange(3),),
            "fails": (),
            "in_room": (chance.randrange(4), short),
            "at_desk": (chance.randrange(3), short),
            "asks": (next(self._numbers),),
            "runs_elsewhere": (next(self._numbers),),
        }
        return payloads.get(kind, (short,))

    def _cancel(self) -> None:
        chance = random.Random(self._chance.random())
        while not self._stopped.wait(max(20 / self._rate, 0.2)):
            if self._recent:
                job = chance.choice(list(self._recent))
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
            self._runs.put((told["callback_url"], told["inputs"]["number"]))
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
        self._tell(what="callback", about=str(token), outcome="asked", action=action)
        outcome: Outcome = "unknown"
        while outcome == "unknown" and not self._ended.is_set():
            now = int(time.time())
            headers = {
                "webhook-id": nonce,
                "webhook-timestamp": str(now),
                "webhook-signature": sign(work.SECRET, token, nonce, now, body),
            }
            outcome = _posted(client, url, body, headers)
            if outcome == "unknown":
                self._ended.wait(0.2)
        self._tell(what="callback", about=str(token), outcome=outcome, action=action, job=str(token.job_id))
        return outcome

    # -- webhooks --------------------------------------------------------------------------------------------------------

    def _send_events(self, url: str) -> None:
        chance = random.Random(self._chance.random())
        with (
            httpx.Client(verify=NO_TLS, trust_env=False, timeout=20) as client,
            ThreadPoolExecutor(3) as senders,
        ):
            while not self._stopped.wait(max(30 / self._rate, 0.1)):
                event = f"evt_{next(self._numbers)}"
                body = json.dumps({"id": event, "type": "paid"}).encode()
                signature = hmac.new(work.WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
                forged = chance.random() < 0.1
                headers = {"X-Signature": "0" * 64 if forged else signature}
                self._tell(what="webhook", about=event, outcome="asked", forged=forged)
                outcomes: set[Outcome] = {"unknown"}
                for _ in range(50):
                    sent = [
                        senders.submit(_posted, client, f"{url}/webhooks/v1/shop", body, headers)
                        for _ in range(chance.choice((1, 1, 3)))
                    ]
                    outcomes = {one.result() for one in sent}
                    if outcomes != {"unknown"} or self._ended.is_set():
                        break
                    self._ended.wait(0.2)
                outcome = next(one for one in ("ok", "refused", "unknown") if one in outcomes)
                self._tell(what="webhook", about=event, outcome=outcome, forged=forged)

    # -- reading ---------------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._ended.wait(0.3):
            self._read_all()

    def _read_all(self) -> bool:
        try:
            for channel in [
                *(f"subject:chaos:{n}" for n in range(8)),
                "subject:chaos:ticks",
                "subject:chaos:webhooks",
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
