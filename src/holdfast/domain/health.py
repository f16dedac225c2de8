"""Is the queue stuck, and why: facts about the system, and what each of them means to a person."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from holdfast.domain.sentence import ago, error_name, span
from holdfast.domain.served import written_queue
from holdfast.domain.shell_words import argument
from holdfast.domain.spans import open_or_paused

COUNT_CAP = 10_000
LONG_WAIT = timedelta(minutes=10)
LONG_TRANSACTION = timedelta(minutes=15)
MUCH_SKEW = timedelta(seconds=5)
MANY_DEAD_ROWS = 500_000
FAILURE_WINDOW = timedelta(hours=1)


# What somebody wishes of a worker: to claim no more, or to finish what runs and end.
Wish: TypeAlias = Literal["quiet", "stop"]


class Verdict(StrEnum):
    """How one check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One answer: what was looked at, what was found, and what to do about it."""

    name: str
    verdict: Verdict
    found: str
    advice: str | None = None


class WorkerState(StrEnum):
    """Whether a worker can be counted on."""

    LIVE = "live"
    LATE = "late"
    DRAINING = "draining"  # it lives and claims no more
    DEAD = "dead"
    STOPPED = "stopped"


LIVING = frozenset({WorkerState.LIVE, WorkerState.LATE, WorkerState.DRAINING})


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker as the database knows it."""

    id: UUID
    name: str
    host: str
    pid: int
    version: str
    queues: dict[str, int]
    tasks: list[str]
    lease: timedelta
    started_at: datetime
    seen_at: datetime
    clock_skew: timedelta
    stopped_at: datetime | None
    died_at: datetime | None
    wish: Wish | None
    wished_at: datetime | None
    wished_by: str | None
    wished_for: str | None
    held: int
    now: datetime

    @property
    def wished(self) -> str | None:
        """What it was asked to do, by whom, when and why."""
        if self.wish is None or self.wished_at is None:
            return None
        why = f": {self.wished_for}" if self.wished_for else ""
        asked = "asked to stop" if self.wish == "stop" else "made quiet"
        return f"{asked} by {self.wished_by} {ago(self.wished_at, self.now)}{why}"

    @property
    def state(self) -> WorkerState:
        """Tell a goodbye from a death, and a missed beat from both."""
        if self.stopped_at is not None:
            return WorkerState.STOPPED
        if self.died_at is not None or self.seen_at + self.lease < self.now:
            return WorkerState.DEAD
        if self.wish is not None:
            return WorkerState.DRAINING
        return WorkerState.LATE if self.seen_at + self.lease / 2 < self.now else WorkerState.LIVE


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue: who paused it, what waits in it, who serves it."""

    name: str
    paused_at: datetime | None
    paused_by: str | None
    paused_for: str | None
    resume_at: datetime | None
    waiting: int
    running: int
    oldest: datetime | None
    workers: int
    now: datetime
    limit: int | None = None

    @property
    def status(self) -> str:
        """Open, or paused by whom since when."""
        return open_or_paused(self.paused_by, self.paused_at, self.paused_for, self.resume_at, self.now)

    @property
    def oldest_wait(self) -> timedelta | None:
        """How long the head of the line has been waiting."""
        return None if self.oldest is None else max(self.now - self.oldest, timedelta())


class ServerInfo(NamedTuple):
    """The server and who we are to it."""

    version_number: int
    version: str
    login: str
    is_superuser: bool
    clock: datetime
    has_schema: bool


class HomelessTask(NamedTuple):
    """Jobs at the head of a line whose task no live worker has."""

    queue: str
    task: str
    jobs: int


class RecentEnds(NamedTuple):
    """How the newest jobs ended."""

    failed: int
    completed: int
    commonest_error: str | None


class Storage(NamedTuple):
    """What holds back vacuum, and what it left behind."""

    oldest_transaction: timedelta | None
    whose: str | None  # the oldest transaction is: a session with its pid and application, or a prepared one
    dead_rows: int
    live_rows: int
    missing_partitions: int
    rest_has_rows: bool


class TableSize(NamedTuple):
    """How large a table has grown, with its partitions and indexes."""

    name: str
    rows: int
    dead_rows: int
    bytes: int
    vacuumed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the judgement of the queues needs to know."""

    queues: list[QueueInfo]
    workers: list[WorkerInfo]
    homeless: list[HomelessTask]
    ends: RecentEnds
    storage: Storage


def capped(count: int) -> str:
    """Write a count that was not taken further than its cap."""
    return f"{COUNT_CAP:,}+" if count > COUNT_CAP else f"{count:,}"


def check_roles(server: ServerInfo, has_roles: bool, required: bool) -> Check:
    """Judge whether applications log in with no more rights than they need."""
    bad = Verdict.FAIL if required else Verdict.WARN
    if server.is_superuser:
        advice = "let applications log in with holdfast_producer, holdfast_worker or holdfast_api; a superuser walks past every right"
        return Check("roles", bad, f"{server.login} is a superuser", advice)
    if not has_roles:
        advice = "run holdfast db migrate once as a login that may create roles, to separate the owner from the applications"
        return Check(
            "roles",
            bad,
            "single-role set-up: the login that owns the schema does everything, and nobody can be bound to a tenant",
            advice,
        )
    return Check(
        "roles", Verdict.OK, f"{server.login} has an application's rights, holdfast_owner owns the schema"
    )


def check_own_clock(server: ServerInfo, here: datetime) -> Check:
    """Judge this machine's clock against the database's."""
    return _clock("clock of this machine", here - server.clock)


def _clock(name: str, skew: timedelta) -> Check:
    told = f"{span(abs(skew))} {'ahead of' if skew > timedelta() else 'behind'} the database"
    if abs(skew) > MUCH_SKEW:
        return Check(
            name,
            Verdict.WARN,
            told,
            "start a time service (chrony, systemd-timesyncd); run_at= is computed by this clock",
        )
    return Check(name, Verdict.OK, told)


def judge(facts: Facts) -> Iterator[Check]:
    """Say what each fact means, the most pressing first."""
    yield from _workers(facts)
    yield from _queues(facts)
    yield _homeless(facts.homeless)
    yield _oldest(facts.queues)
    yield _failures(facts.ends)
    yield _skew(facts.workers)
    yield from _storage(facts.storage)


def _workers(facts: Facts) -> Iterator[Check]:
    states = Counter(worker.state for worker in facts.workers)
    live = states[WorkerState.LIVE] + states[WorkerState.LATE]
    waiting = sum(queue.waiting for queue in facts.queues)
    draining = f", {states[WorkerState.DRAINING]} draining" if states[WorkerState.DRAINING] else ""
    if live:
        late = (
            f", {states[WorkerState.LATE]} of them late with their heartbeat"
            if states[WorkerState.LATE]
            else ""
        )
        yield Check("workers", Verdict.WARN if late else Verdict.OK, f"{live} live{late}{draining}")
    elif waiting:
        yield Check(
            "workers",
            Verdict.FAIL,
            f"no live worker{draining}, and {_jobs(waiting)} in line",
            "start one: holdfast -a module:app worker",
        )
    else:
        yield Check(
            "workers",
            Verdict.WARN,
            f"no live worker{draining} (nothing waits now)",
            "start one: holdfast -a module:app worker",
        )
    holding = [worker for worker in facts.workers if worker.state is WorkerState.DEAD and worker.held]
    if holding:
        names = ", ".join(
            f"{worker.name} ({_jobs(worker.held)}, seen {ago(worker.seen_at, worker.now)})"
            for worker in holding[:3]
        )
        advice = "any live worker's sweeper takes them back within a lease: if this stays, none runs; start a worker"
        yield Check("dead workers", Verdict.FAIL, f"dead and still holding jobs: {names}", advice)
    else:
        yield Check("dead workers", Verdict.OK, "none holds jobs")


def _queues(facts: Facts) -> Iterator[Check]:
    stuck = [
        queue for queue in facts.queues if queue.waiting and not queue.workers and queue.paused_at is None
    ]
    for queue in stuck:
        yield Check(
            "queues", Verdict.FAIL, f"nobody processes queue {queue.name}: {_jobs(queue.waiting)} in line, no live worker serves it",
            f"start one: holdfast -a module:app worker -q {shlex.quote(written_queue(queue.name))}",
        )  # fmt: skip
    if not stuck:
        yield Check(
            "queues",
            Verdict.OK,
            "every queue with jobs in line is served" if facts.queues else "none declared yet",
        )
    paused = [queue for queue in facts.queues if queue.paused_at is not None]
    for queue in paused:
        told = f"queue {queue.name} is {queue.status}, {_jobs(queue.waiting)} in line"
        advice = f"open it: holdfast queue resume {argument(queue.name)}"
        yield Check(
            "paused queues",
            Verdict.WARN if queue.waiting else Verdict.OK,
            told,
            advice if queue.waiting else None,
        )


def _jobs(count: int) -> str:
    return f"{capped(count)} job{'' if count == 1 else 's'}"


def _homeless(homeless: Sequence[HomelessTask]) -> Check:
    if not homeless:
        return Check("tasks", Verdict.OK, "no job waits in a served queue for a task that its workers lack")
    named = ", ".join(f"{each.task} ({each.jobs} in queue {each.queue})" for each in homeless[:5])
    advice = "start a worker whose app declares them and serves these queues, or cancel the jobs"
    return Check("tasks", Verdict.FAIL, f"no live worker has these tasks: {named}", advice)


def _oldest(queues: Sequence[QueueInfo]) -> Check:
    waits = [(queue.oldest_wait, queue.name) for queue in queues if queue.oldest_wait is not None]
    if not waits:
        return Check("oldest wait", Verdict.OK, "nothing is in line")
    wait, name = max(waits)
    told = f"{span(wait)} in queue {name}"
    if wait > LONG_WAIT:
        return Check(
            "oldest wait",
            Verdict.WARN,
            told,
            f"give queue {name} more workers or slots: holdfast worker -q {shlex.quote(f'{written_queue(name)}:50')}",
        )
    return Check("oldest wait", Verdict.OK, told)


def _failures(ends: RecentEnds) -> Check:
    within = "in the last hour"
    error = error_name({"type": ends.commonest_error})
    if ends.failed and not ends.completed:
        advice = "holdfast job list --status FAILED, then holdfast job show ID"
        return Check(
            "failures",
            Verdict.FAIL,
            f"all {ends.failed} jobs that ended {within} FAILED, mostly with {error}",
            advice,
        )
    if ends.failed:
        return Check(
            "failures",
            Verdict.OK,
            f"{ends.failed} FAILED {within}, mostly with {error}; others complete",
        )
    return Check("failures", Verdict.OK, f"none {within}")


def _skew(workers: Sequence[WorkerInfo]) -> Check:
    live = [worker for worker in workers if worker.state in LIVING]
    worst = max(live, key=lambda worker: abs(worker.clock_skew), default=None)
    if worst is None:
        return Check("clocks of workers", Verdict.OK, "no live worker")
    check = _clock("clocks of workers", worst.clock_skew)
    return Check(check.name, check.verdict, f"{worst.name} on {worst.host} is {check.found}", check.advice)


def _storage(storage: Storage) -> Iterator[Check]:
    oldest = storage.oldest_transaction
    if oldest is not None and oldest > LONG_TRANSACTION:
        advice = (
            "let it end, if it is a backup or a report; end it (pg_terminate_backend, rollback prepared) when it was forgotten: "
            "until then no dead row can be removed"
        )
        yield Check("oldest transaction", Verdict.WARN, f"open for {span(oldest)}: {storage.whose}", advice)
    else:
        yield Check(
            "oldest transaction",
            Verdict.OK,
            f"open for {span(oldest)}" if oldest else "none open that this login can see",
        )
    bloated = storage.dead_rows > MANY_DEAD_ROWS and storage.dead_rows > storage.live_rows / 5
    yield Check(
        "dead rows", Verdict.WARN if bloated else Verdict.OK, f"{storage.dead_rows:,} beside {storage.live_rows:,} live ones in holdfast.job",
        "see oldest transaction; then: vacuum (analyze) holdfast.job" if bloated else None,
    )  # fmt: skip
    if storage.missing_partitions:
        advice = "a worker's upkeep makes them; if none runs: select holdfast.upkeep()"
        yield Check(
            "history partitions",
            Verdict.WARN,
            f"{storage.missing_partitions} missing for this month and the next",
            advice,
        )
    elif storage.rest_has_rows:
        advice = "check the clocks of producers: they are for ids made by a clock that is months off"
        yield Check("history partitions", Verdict.WARN, "rows have landed in job_history_rest", advice)
    else:
        yield Check("history partitions", Verdict.OK, "made ahead")
