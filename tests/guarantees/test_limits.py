"""Limits and rates are exact however many race, nobody is stranded, nobody waits for somebody's open transaction."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.hands import TASK, Hands
from guarantees.waiting import PATIENCE, until
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase
from sql.support import until_somebody_waits
from world import strikes
from world.often import times

RACERS = 16
JOBS = times(250, 400)


class Racer(Hands):
    """A worker by hand whose task has gates."""

    def __init__(self, connection: psycopg.Connection[Any], **options: Any) -> None:
        super().__init__(connection)
        self.register(**options)

    def register(self, **options: Any) -> None:
        definition = json.dumps([{"name": TASK, "max_retries": 3, "options": options}])
        self.connection.execute("select holdfast.register_tasks(%s::jsonb)", (definition,))

    def enqueue_with(self, *payloads: dict[str, Any]) -> list[UUID]:
        jobs = json.dumps([{"task": TASK, "payload": payload} for payload in payloads])
        rows = self.connection.execute("select job_id from holdfast.enqueue_many(%s::jsonb)", (jobs,))
        return [job_id for (job_id,) in rows.fetchall()]

    def admit(self) -> None:
        self.connection.execute("select holdfast.admit_due(1000)")

    def admit_and_claim(self) -> list[dict[str, Any]]:
        self.admit()
        return self.claim()

    def admit_and_count(self) -> int:
        self.admit()
        number: int = self._one("select count(*) from holdfast.slot where n is not null")
        return number

    def held_by(self, job_id: UUID) -> str | None:
        text: str | None = self._one("select held_by from holdfast.job where id = %s", job_id)
        return text


@pytest.fixture
def connect(holdfast_db: ScratchDatabase) -> Iterator[Callable[[], psycopg.Connection[Any]]]:
    """Open connections of the schema's owner, in autocommit, as many as a test needs."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(psycopg.connect(holdfast_db.owner_url, autocommit=True))


def race(racers: list[Racer], run: Callable[[Racer], None]) -> None:
    start = threading.Barrier(len(racers))

    def one(racer: Racer) -> None:
        start.wait()
        run(racer)

    with ThreadPoolExecutor(len(racers)) as pool:
        for ended in [pool.submit(one, racer) for racer in racers]:
            ended.result(timeout=PATIENCE * 2)


def left(racer: Racer) -> int:
    number: int = racer._one("select count(*) from holdfast.job where finished_at is null")
    return number


class Watch:
    """Counts what runs of each key, and what was the most of each kind."""

    def __init__(self, most: dict[str, int]) -> None:
        self.most, self.worst = most, Counter[str]()
        self._running, self._lock = Counter[str](), threading.Lock()

    def begins(self, job: dict[str, Any]) -> None:
        with self._lock:
            strikes.strike()
            self._count(job, 1)

    def ends(self, job: dict[str, Any]) -> None:
        with self._lock:
            self._count(job, -1)

    def _count(self, job: dict[str, Any], step: int) -> None:
        payload = json.loads(job["payload"])
        for kind, limit in self.most.items():
            key = f"{kind}:{payload[kind]}"
            self._running[key] += step
            self.worst[kind] = max(self.worst[kind], self._running[key])
            if self.worst[kind] > limit:
                strikes.saw_it()


def test_no_limit_is_exceeded_and_nobody_is_stranded_under_16_racing_claimers(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    most = {"user": 2, "region": 5}
    limits = [{"key": f"{kind}:{{{kind}}}", "max": limit} for kind, limit in most.items()]
    racers = [Racer(connect(), limits=limits) for _ in range(RACERS)]
    racers[0].enqueue_with(*[{"user": n % 7, "region": n % 2} for n in range(JOBS)])
    watch, all_hold = Watch(most), threading.Barrier(RACERS)
    deadline = time.monotonic() + PATIENCE * 2

    def claim(racer: Racer, dice: random.Random) -> list[dict[str, Any]]:
        racer.admit()
        claimed = racer.claim(limit=dice.randint(1, 4))
        for job in claimed:
            watch.begins(job)
        return claimed

    def settle(racer: Racer, job: dict[str, Any], dice: random.Random) -> None:
        watch.ends(job)
        if dice.random() < 0.2:
            racer.settle(job, "released", reason="released: by a race")
        else:
            racer.complete(job)

    def work(racer: Racer) -> None:
        dice = random.Random(racer.id.int)
        held: list[dict[str, Any]] = []
        while more := claim(racer, dice):
            held += more
        all_hold.wait(PATIENCE)  # all that may run at the same time now does
        while held or left(racer):
            assert time.monotonic() < deadline, "jobs are stranded"
            claimed = claim(racer, dice)  # what it held runs on meanwhile
            for job in held:
                settle(racer, job, dice)
            held = claimed

    race(racers, work)

    assert [kind for kind, limit in most.items() if watch.worst[kind] > limit] == []
    assert racers[0]._one("select count(*) from holdfast.slot") == 0
    assert racers[0]._one("select count(*) from holdfast.job where status = 'COMPLETED'") == JOBS


def test_who_admits_while_another_does_takes_no_slot_that_it_cannot_see(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    one, other = (Racer(connect(), limits=[{"key": "shared", "max": 1}]) for _ in range(2))
    taken = "select count(*) from holdfast.slot where n is not null"
    one.enqueue_with({}, {})
    other.connection.execute("set lock_timeout = '2s'")  # nobody waits for who does not end

    with one.connection.transaction():
        one.connection.execute("select holdfast.admit_due(1)")
        assert (one._one(taken), other._one(taken)) == (1, 0)
        other.admit()

    assert one._one(taken) == 1
    assert len(one.claim(limit=2)) == 1


def test_no_window_has_more_starts_than_its_rate_under_16_racing_claimers(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    most, period = 5, 0.2
    racers = [Racer(connect(), rates=[{"key": "api", "max": most, "per": period}]) for _ in range(RACERS)]
    racers[0].enqueue_with(*[{} for _ in range(60)])
    deadline = time.monotonic() + PATIENCE * 2

    def work(racer: Racer) -> None:
        while left(racer):
            assert time.monotonic() < deadline, "jobs are stranded"
            racer.admit()
            for job in racer.claim(limit=3):
                racer.complete(job)

    race(racers, work)

    rows = racers[0].connection.execute(
        "select extract(epoch from at)::float8 from holdfast.job_history where to_status = 'RUNNING' order by at"
    )
    starts = [at for (at,) in rows.fetchall()]
    strikes.strike(len(starts))
    spans = [later - first for first, later in zip(starts, starts[most:], strict=False)]
    early = [nth for nth, span in enumerate(spans, most + 1) if span < period - 1e-6]
    if early:
        strikes.saw_it(after=early[0])
    assert len(starts) == 60
    assert early == []


def test_of_16_that_enqueue_under_a_rejecting_limit_exactly_one_wins(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    racers = [Racer(connect(), limits=[{"key": "one", "max": 1, "policy": "reject"}]) for _ in range(RACERS)]
    won: list[UUID] = []
    in_the_way: list[str] = []

    def ask(racer: Racer) -> None:
        try:
            won.extend(racer.enqueue_with({}))
        except psycopg.Error as error:
            told = json.loads(error.diag.message_detail or "{}")
            in_the_way.append(told["job"] if error.sqlstate == "HF012" else str(error))

    race(racers, ask)

    assert len(won) == 1
    assert in_the_way == [str(won[0])] * (RACERS - 1)


def test_who_enqueues_under_a_rejecting_limit_waits_for_who_does(
    connect: Callable[[], psycopg.Connection[Any]], holdfast_db: ScratchDatabase
) -> None:
    limits = [{"key": "one", "max": 1, "policy": "reject"}]
    one, other = (Racer(connect(), limits=limits) for _ in range(2))

    with ThreadPoolExecutor(1) as pool:
        with one.connection.transaction():
            (first,) = one.enqueue_with({})
            second = pool.submit(other.enqueue_with, {})
            until_somebody_waits(holdfast_db)
        refused = second.exception(timeout=PATIENCE)

    assert isinstance(refused, psycopg.Error)
    assert refused.sqlstate == "HF012"
    assert json.loads(refused.diag.message_detail or "{}")["job"] == str(first)


@pytest.fixture
def pair(connect: Callable[[], psycopg.Connection[Any]]) -> tuple[Racer, Racer]:
    limits = [{"key": "one", "max": 1}]
    return Racer(connect(), limits=limits), Racer(connect(), limits=limits)


def test_nothing_is_parked_behind_a_job_that_is_ending(pair: tuple[Racer, Racer]) -> None:
    ending, admitting = pair
    ending.enqueue_with({})
    ending.admit()
    (job,) = ending.claim()
    (waiter,) = ending.enqueue_with({})

    with ending.connection.transaction():
        ending.complete(job)
        admitting.admit()

    assert admitting.held_by(waiter) is None
    until("it is admitted", admitting.admit_and_claim)


def test_an_end_waits_for_who_is_parking_and_lets_that_job_in(
    pair: tuple[Racer, Racer], connect: Callable[[], psycopg.Connection[Any]]
) -> None:
    ending, parking = pair
    # A third session looks: inside a transaction pg_stat_activity answers what it answered first.
    onlooker = connect()
    ending.enqueue_with({})
    ending.admit()
    (job,) = ending.claim()
    (waiter,) = ending.enqueue_with({})

    with parking.connection.transaction():
        parking.admit()
        assert parking.held_by(waiter) == "limit:one"
        end = threading.Thread(target=ending.complete, args=(job,))
        end.start()
        parker = parking.connection.info.backend_pid
        waits = "select count(*) from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
        until("the end waits", lambda: onlooker.execute(waits, (parker,)).fetchone() == (1,))
    end.join(PATIENCE)

    # Who parked gives its locks back one by one: where the key's own comes last, the job is out of the parking and admission lets it in.
    claimed = until("it is let in", ending.admit_and_claim)
    assert [one["id"] for one in claimed] == [waiter]


def test_a_completion_does_not_wait_for_an_open_transaction_that_ended_another_of_its_key(
    connect: Callable[[], psycopg.Connection[Any]],
) -> None:
    slow, quick = (Racer(connect(), limits=[{"key": "two", "max": 2}]) for _ in range(2))
    slow.enqueue_with({}, {}, {}, {})
    slow.admit()
    (first,), (second,) = slow.claim(), quick.claim()
    quick.connection.execute(f"set statement_timeout = '{PATIENCE:g}s'")

    with slow.connection.transaction():
        slow.complete(first)
        assert quick.complete(second) is None
        quick.admit()

    until("both others have a slot", lambda: quick.admit_and_count() == 2)


def test_a_killed_worker_keeps_its_jobs_slot_for_the_next_attempt_and_leaks_none(
    stage: Stage, shop: Holdfast
) -> None:
    doomed = stage.worker(lease=1.0)
    first = tasks.hold_room.enqueue("a", "first")
    stage.until_started(first.id)
    second = tasks.hold_room.enqueue("a", "second")
    until("the second waits for the room", lambda: stage.job(second.id)["held_by"] == "limit:room:a")

    doomed.kill()
    stage.worker(lease=1.0)
    stage.until_started(first.id, attempt=2)
    assert stage.ledger("start", second.id) == []
    stage.let_go("first")
    stage.until_status(first.id, "COMPLETED")
    stage.until_started(second.id)
    stage.let_go("second")
    stage.until_status(second.id, "COMPLETED")

    assert stage.value("select count(*) from holdfast.slot") == 0
    stage.audit()
