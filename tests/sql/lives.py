"""Random lives of many jobs: what people, workers, executors and the clock do to them, asked of the machine and of its model."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import TypeVar
from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    invariant,
    multiple,
    precondition,
    rule,
)
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from guarantees.audit import broken_rules
from holdfast.domain.states import Status
from sql.asking import ask, decide
from sql.model import Attempt, Job
from sql.model_world import RefusedError, Wanted, World
from sql.support import Connection, Machine, Row
from world.often import LONG as LONG_MODE

T = TypeVar("T")
LATER = 600.0  # the delay of whatever is delayed; no run takes as long
LONG = 10**7
LOOKS = 5 if LONG_MODE else 20
ROOM = 6  # for jobs that have not ended
SCOPES = ("active", "success", "ever")
ON_CONFLICT = ("return", "raise", "replace")


# To define another clock, as tests do otherwise, has every statement planned anew.
CLOCK = """
create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe
return pg_catalog.clock_timestamp() + make_interval(secs => coalesce(nullif(current_setting('lives.ahead', true), ''), '0')::float8)
"""


class Timed(Machine):
    """Has a clock that is moved by a setting, which ends with the savepoint that it was made in."""

    def advance(self, seconds: float) -> None:
        self.run(
            "select set_config('lives.ahead', (extract(epoch from holdfast.clock() - pg_catalog.clock_timestamp()) + %s)::text, true)",
            seconds,
        )


class Lives(RuleBasedStateMachine):
    """Two workers, some people, the clock, and whatever they do.

    It does not run by itself: another class of lives calls `begin`, and the test gives that one its connection and its counts.
    """

    connection: Connection
    began: Iterator[int]  # how many have begun before
    happened: Counter[str]  # in all of them
    world: World
    workers: list[UUID]

    runs = Bundle("runs")  # attempts that were handed over

    def __init__(self) -> None:
        super().__init__()
        if next(self.began) % 30 == 0:
            begin_anew(self.connection)
        # What guards refused in another life, or in a test before, outlives a rollback.
        self.connection.execute("select setval('holdfast.refusal', 1, false)")
        self._undo = ExitStack()
        # A savepoint: the schema outlives the run, nothing else does.
        self._undo.enter_context(self.connection.transaction(force_rollback=True))
        self.machine = Timed(self.connection)
        self.world = World(self.happened)
        self.workers = []
        self.steps = 0
        self.numbers = count(1)
        self.handed: dict[tuple[UUID, UUID], UUID] = {}
        self.attempts: list[Attempt] = []

    def teardown(self) -> None:
        try:
            # An error of the server's would otherwise be hidden by this question, which it refuses.
            if self.connection.info.transaction_status is TransactionStatus.INTRANS:
                assert broken_rules(self.connection) == []
        finally:
            self._undo.close()

    def begin(self) -> None:
        """Let two of three jobs run."""
        self.machine.register("t", timeout=LONG, manual_retries=100)
        self.workers = [self.machine.worker(f"w{nth}", lease=LONG) for nth in range(2)]
        for nth in range(3):
            self.enqueue(nth, None if nth else "first", "active", "return", later=False)
        self.claim(0, 2)
        self.enqueue(0, "first", "active", "replace", later=False)

    # -- people --------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self._has_room())
    @rule(
        max_retries=st.integers(0, 2),
        key=st.sampled_from([None, "a", "b"]),
        scope=st.sampled_from(SCOPES),
        on_conflict=st.sampled_from(ON_CONFLICT),
        later=st.booleans(),
    )
    def enqueue(
        self, max_retries: int, key: str | None, scope: str, on_conflict: str, *, later: bool
    ) -> None:
        self._enqueue(Wanted(self._next_id(), max_retries, key, scope, on_conflict, later=later))

    @precondition(lambda self: self.world.unended([*self.world.jobs]))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = self._any(data)
        if job.status in (Status.COMPLETED, Status.FAILED):
            with self.machine.refused("HF001"):
                self.machine.value("select holdfast.cancel(%s)", job.id)
        else:
            self.machine.value("select holdfast.cancel(%s)", job.id)
            if job.status is not Status.CANCELLED:
                job.move(Status.CANCELLED)

    @precondition(lambda self: any(job.status is Status.FAILED for job in self._all()))
    @rule(data=st.data())
    def retry_by_hand(self, data: st.DataObject) -> None:
        job = self._any(data)
        taken = any(
            job.key and other.holds_key and other.key == job.key for other in self._all() if other is not job
        )
        if job.status is not Status.FAILED or job.retried or taken:
            with self.machine.refused("HF008"):
                self.machine.value("select holdfast.retry(%s)", job.id)
            return
        wanted = self._next_id()
        assert self.machine.value("select holdfast.retry(%s, p_new_id => %s)", job.id, wanted) == wanted
        job.retried, job.holds_key = True, False
        holds_key = job.key is not None
        self.world.jobs[wanted] = Job(wanted, job.max_retries, job.key, job.scope, holds_key=holds_key)

    @precondition(lambda self: self._asking())
    @rule(data=st.data(), decision=st.sampled_from(["approve", "deny"]))
    def decide(self, data: st.DataObject, decision: str) -> None:
        job = data.draw(st.sampled_from(self._asking()))
        assert job.approval_id is not None
        assert decide(self.machine, job.approval_id, "ann", decision, "because")["result"] == "decided"
        if decision == "approve":
            job.in_line = True
        else:
            job.move(Status.FAILED)

    # -- workers -------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self._ready(suspect=False))
    @rule(worker=st.integers(0, 1), limit=st.integers(1, 3))
    def claim(self, worker: int, limit: int) -> None:
        ready = self._ready(suspect=False)
        claimed = self.machine.claim(self.workers[worker], limit)

        assert len(claimed) == min(limit, len(ready))
        assert {each["id"] for each in claimed} <= ready
        self._begin(self.workers[worker], claimed)

    @precondition(lambda self: self._ready(suspect=True))
    @rule(worker=st.integers(0, 1))
    def claim_suspect(self, worker: int) -> None:
        ready = self._ready(suspect=True)
        claimed = self.machine.claim_suspect(self.workers[worker])

        assert len(claimed) == min(1, len(ready))
        assert {each["id"] for each in claimed} <= ready
        self._begin(self.workers[worker], claimed)

    @precondition(lambda self: self.attempts)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        attempt = self._some(data)
        job, refused = self.world.jobs[attempt.job_id], self.machine.complete(attempt.worker, row(attempt))
        if job.owned_by(attempt):
            job.move(Status.COMPLETED)
            assert refused == []
        else:
            done = (job.status, job.attempt) == (Status.COMPLETED, attempt.number)
            assert [each["status"] for each in refused] == ([] if done else [job.status])

    @precondition(lambda self: self.attempts)
    @rule(data=st.data(), recoverable=st.booleans(), later=st.booleans())
    def fail(self, data: st.DataObject, *, recoverable: bool, later: bool) -> None:
        attempt = self._some(data)
        told = self._settle(attempt, outcome="failed", recoverable=recoverable, delay=LATER if later else 0.0)
        job = self.world.jobs[attempt.job_id]
        if job.owned_by(attempt):
            job.fail(recoverable=recoverable, due=self.world.later if later else None)
            assert told["recorded"]
        assert told["status"] == job.status

    @precondition(lambda self: self.attempts)
    @rule(data=st.data(), outcome=st.sampled_from(["crashed", "released"]))
    def break_off(self, data: st.DataObject, outcome: str) -> None:
        attempt = self._some(data)
        told = self._settle(attempt, outcome=outcome, reason="too busy")
        job = self.world.jobs[attempt.job_id]
        if job.owned_by(attempt):
            if outcome == "crashed":
                job.crash()
            else:
                job.retry(suspect=job.suspect)
            assert told["recorded"]
        assert told["status"] == job.status

    @precondition(lambda self: self.attempts)
    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        attempt = self._some(data)
        if self.world.jobs[attempt.job_id].owned_by(attempt):
            self._save_step(attempt, f"s{attempt.number}")
        else:
            late = data.draw(st.sampled_from(self.late_calls(attempt)))
            with self.machine.refused("HF011"):
                late()

    def late_calls(self, attempt: Attempt) -> list[Callable[[], object]]:
        """List what an attempt may ask for as long as it owns its job."""
        return [
            lambda: self._save_step(attempt, "late"),
            lambda: ask(self.machine, row(attempt), "late"),
        ]

    def _save_step(self, attempt: Attempt, name: str) -> None:
        save = "select holdfast.save_step(%s, %s, %s, %s, 'step', '', '1', false, 1, 0)"
        self.machine.value(save, *row(attempt).values(), name)

    @precondition(lambda self: self._running())
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(self._running()))
        job = self.world.jobs[attempt.job_id]
        job.asked += 1
        asked = ask(self.machine, row(attempt), f"gate{job.asked}")
        job.move(Status.WAITING_FOR_APPROVAL)
        job.approval_id, job.suspect = asked["approval_id"], False  # its worker survived it

    # -- executors -----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.attempts)
    @rule(target=runs, data=st.data())
    def hand_over(self, data: st.DataObject) -> MultipleResults[Attempt]:
        attempt = self._some(data)
        job = self.world.jobs[attempt.job_id]
        call = (f"{LONG}", f"{LONG}", "0", None)
        if job.owned_by(attempt):
            given = self.machine.ask("hand_over", row(attempt), "ci", "{}", *call)["hand_over"]
            job.hand_over(given)
            self.handed[attempt.claim_id, attempt.job_id] = given
            return multiple(attempt)
        if (attempt.claim_id, attempt.job_id) in self.handed:  # a lost answer, whatever became of it since
            again = self.machine.ask("hand_over", row(attempt), "ci", "{}", *call)["hand_over"]
            assert again == self.handed[attempt.claim_id, attempt.job_id]
        else:
            with self.machine.refused("HF011"):
                self.machine.ask("hand_over", row(attempt), "ci", "{}", *call)
        return multiple()

    @rule(
        attempt=runs,
        action=st.sampled_from(["started", "heartbeat", "completed", "failed"]),
        recoverable=st.booleans(),
        executor=st.sampled_from(["ci", "ci", "ci", "other"]),
    )
    def callback(self, attempt: Attempt, action: str, executor: str, *, recoverable: bool) -> None:
        job, nonce = self.world.jobs[attempt.job_id], uuid4().hex
        told = [
            self.machine.value(
                "select holdfast.callback(%s, %s, %s, %s, %s, %s, %s, %s)",
                attempt.job_id, attempt.number, attempt.claim_id, executor, action, nonce, body,
                Jsonb({"type": "Boom", "recoverable": recoverable}),
            )
            for body in (b"body", b"body", b"another")  # the second is a repeat
        ]  # fmt: skip

        if executor != "ci":
            assert told == ["not_found"] * 3
        else:
            answer = job.hear(action, attempt, recoverable=recoverable)
            assert told == [answer, answer, "nonce_reused"]

    # -- time ----------------------------------------------------------------------------------------------------------

    @precondition(lambda self: any(job.due is not None for job in self._all()))
    @rule()
    def time_passes(self) -> None:
        self.machine.advance(LATER + 1)
        self.machine.value("select holdfast.admit_due(1000)")
        self.world.pass_time()

    @precondition(lambda self: self._running())
    @rule(nth=st.integers(0, 1))
    def worker_dies(self, nth: int) -> None:
        dead = self.workers[nth]
        self.machine.fall_silent(dead)
        self.machine.sweep()
        self.workers[nth] = self.machine.worker(f"w{nth}", lease=LONG)
        held = [job for job in self.world.jobs.values() if job.holder == dead]
        alone = all(job.suspect for job in held)
        for job in held:
            job.lose_worker(alone=alone)

    # -- what must always hold -----------------------------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        self.world.follow()  # whatever was done, and whoever ended by it
        rows = self.machine.rows(
            "select j.id::uuid, j.status::text, j.attempt, j.retry_count, j.crash_count, j.suspect, j.key_held, j.holder, j.claim_order is not null as in_line,"
            "       j.claim_order is null and j.due_at is not null as is_due,"
            "       array(select h.to_status::text from holdfast.job_history h where h.job_id = j.id order by h.seq) as path"
            "  from holdfast.job j"
        )
        seen = {
            one["id"]: (
                one["status"], one["attempt"], one["retry_count"], one["crash_count"], one["suspect"], one["key_held"],
                one["holder"], one["in_line"], one["is_due"], one["path"],
            )
            for one in rows
        }  # fmt: skip
        expected = {
            job.id: (
                job.status, job.attempt, job.retries, job.crashes, job.suspect, job.holds_key,
                job.holder, job.in_line, job.due is not None, [*job.path],
            )
            for job in self._all()
        }  # fmt: skip
        both = {each: (seen.get(each), expected.get(each)) for each in seen | expected}
        differ = {each: (told, wanted) for each, (told, wanted) in both.items() if told != wanted}
        assert not differ, differ
        self.steps += 1
        # The auditor's looks cost five times as much as what happens; what it finds seldom goes away by itself.
        if self.steps % LOOKS == 0:
            assert broken_rules(self.connection) == []

    def _begin(self, worker: UUID, claimed: list[Row]) -> None:
        self.attempts += [self.world.jobs[each["id"]].claim(worker, each["claim_id"]) for each in claimed]

    def _running(self) -> list[Attempt]:
        return [one for one in self.attempts if self.world.jobs[one.job_id].owned_by(one)]

    def _some(self, data: st.DataObject) -> Attempt:
        """Draw an attempt: more often one that runs than one that is over."""
        return data.draw(st.sampled_from([*self._running(), *self._running(), *self.attempts[-3:]]))

    def _enqueue(self, *wanted: Wanted) -> None:
        asked = [document(one) for one in wanted]
        self.agree(
            lambda: [
                (job, job == one.id) for job, one in zip(self.world.enqueue(wanted), wanted, strict=True)
            ],
            lambda: [(made["job_id"], made["created"]) for made in self.machine.enqueue_many(asked)],
        )

    def agree(self, expected: Callable[[], T], asked: Callable[[], T]) -> None:
        """Compare what the model answers, or refuses, with what the machine does."""
        try:
            told = expected()
        except RefusedError as refused:
            with self.machine.refused(refused.sqlstate):
                asked()
        else:
            assert asked() == told

    def _all(self) -> list[Job]:
        return [*self.world.jobs.values()]

    def _next_id(self) -> UUID:
        """Number the jobs: of two that came into line at one moment the same goes first whenever a life is told again."""
        return UUID(int=0x01900000_0000_7000_8000_000000000000 + next(self.numbers))

    def _any(self, data: st.DataObject) -> Job:
        """Draw a job: more often one that goes on than one that has ended."""
        going_on = [job for job in self._all() if not job.status.is_terminal]
        return data.draw(st.sampled_from([*going_on, *self._all()]))

    def _has_room(self) -> bool:
        """Whether there are so few jobs that a life comes back to each of them."""
        return len(self.world.unended([*self.world.jobs])) < ROOM

    def _asking(self) -> list[Job]:
        return [job for job in self._all() if job.approval_id and not job.in_line]

    def _ready(self, *, suspect: bool) -> set[UUID]:
        return {job.id for job in self._all() if job.in_line and job.suspect is suspect}

    def _settle(self, attempt: Attempt, **outcome: object) -> dict[str, object]:
        (told,) = self.machine.settle(attempt.worker, row(attempt), **{"error": {"type": "Boom"}, **outcome})
        return told


def row(attempt: Attempt) -> Row:
    """Write an attempt as its claim was answered."""
    return {"id": attempt.job_id, "attempt": attempt.number, "claim_id": attempt.claim_id}


def document(wanted: Wanted) -> dict[str, object]:
    """Write a job as the machine is asked for it."""
    asked = {
        "id": str(wanted.id),
        "task": "t",
        "payload": {},
        "max_retries": wanted.max_retries,
        "key": wanted.key,
        "key_scope": wanted.scope,
        "on_conflict": wanted.on_conflict,
        "run_in": LATER if wanted.later else None,
        "after": [str(each) for each in wanted.after] or None,
        "on_parent_failure": "run" if wanted.runs_anyway else None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def begin_anew(connection: Connection) -> None:
    """Begin the transaction in which every life is a savepoint, after what is left of those before is swept away."""
    connection.rollback()
    connection.autocommit = True
    connection.execute("vacuum")
    connection.autocommit = False
    connection.execute("set plan_cache_mode = force_generic_plan")
    connection.execute(CLOCK)
