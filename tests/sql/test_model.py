"""Long random lives of many jobs: whatever is called in whatever order, the machine and its model in Python agree."""

from collections import Counter
from collections.abc import Iterator
from itertools import count

import psycopg
import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test

from sql.lives_waiting import WaitingLives
from sql.model_world import EVERYTHING
from world.often import LONG, times, within

LATER = 600.0  # the delay of whatever is delayed; no run takes as long
LONG = 10**7
SCOPES = ("active", "success", "ever")


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
    """Two workers, some people, the clock, and whatever they do."""

    connection: Connection
    began: "count[int]"  # how many have begun before
    jobs: dict[UUID, Job]
    workers: list[UUID]

    attempts = Bundle("attempts")
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
        self.jobs = {}
        self.workers = []
        self.steps = 0
        self.numbers = count(1)
        self.handed: dict[tuple[UUID, UUID], UUID] = {}

    def teardown(self) -> None:
        try:
            # An error of the server's would otherwise be hidden by this question, which it refuses.
            if self.connection.info.transaction_status is TransactionStatus.INTRANS:
                assert broken_rules(self.connection) == []
        finally:
            self._undo.close()

    @initialize()
    def begin(self) -> None:
        self.machine.register("t", timeout=LONG, manual_retries=100)
        self.workers = [self.machine.worker(f"w{nth}", lease=LONG) for nth in range(2)]
        for nth in range(3):
            self.enqueue(nth, None, "active", later=False)

    # -- people --------------------------------------------------------------------------------------------------------

    @rule(
        max_retries=st.integers(0, 2),
        key=st.sampled_from([None, "a", "b"]),
        scope=st.sampled_from(SCOPES),
        later=st.booleans(),
    )
    def enqueue(self, max_retries: int, key: str | None, scope: str, *, later: bool) -> None:
        wanted = {
            "max_retries": max_retries,
            "key": key,
            "key_scope": scope,
            "run_in": LATER if later else None,
        }
        told = self.machine.enqueue_many(
            [
                {
                    "id": str(self._next_id()),
                    "task": "t",
                    "payload": {},
                    **{name: value for name, value in wanted.items() if value is not None},
                }
            ]
        )

        holder = next(
            (job.id for job in self.jobs.values() if key and job.holds_key and job.key == key), None
        )
        (made,) = told
        assert made["created"] is (holder is None)
        if holder is None:
            job = Job(made["job_id"], max_retries, key, scope if key else None, holds_key=key is not None)
            job.in_line, job.delayed = not later, later
            self.jobs[job.id] = job
        else:
            assert made["job_id"] == holder

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = self._any(data)
        if job is None:
            return
        if job.status in (Status.COMPLETED, Status.FAILED):
            with self.machine.refused("HF001"):
                self.machine.value("select holdfast.cancel(%s)", job.id)
        else:
            self.machine.value("select holdfast.cancel(%s)", job.id)
            if job.status is not Status.CANCELLED:
                job.move(Status.CANCELLED)

    @rule(data=st.data())
    def retry_by_hand(self, data: st.DataObject) -> None:
        job = self._any(data)
        if job is None:
            return
        taken = any(
            other.key == job.key and other.holds_key and other is not job
            for other in self.jobs.values()
            if job.key
        )
        if job.status is not Status.FAILED or job.retried or taken:
            with self.machine.refused("HF008"):
                self.machine.value("select holdfast.retry(%s)", job.id)
            return
        new = self.machine.value("select holdfast.retry(%s, p_new_id => %s)", job.id, self._next_id())
        job.retried, job.holds_key = True, False
        self.jobs[new] = Job(new, job.max_retries, job.key, job.scope, holds_key=job.key is not None)

    @rule(data=st.data(), decision=st.sampled_from(["approve", "deny"]))
    def decide(self, data: st.DataObject, decision: str) -> None:
        asking = [job for job in self.jobs.values() if job.approval_id and not job.in_line]
        if not asking:
            return
        job = data.draw(st.sampled_from(asking))
        assert job.approval_id is not None
        assert decide(self.machine, job.approval_id, "ann", decision, "because")["result"] == "decided"
        if decision == "approve":
            job.in_line = True
        else:
            job.move(Status.FAILED)

    # -- workers -------------------------------------------------------------------------------------------------------

    @rule(target=attempts, worker=st.integers(0, 1), limit=st.integers(1, 3))
    def claim(self, worker: int, limit: int) -> MultipleResults[Attempt]:
        ready = {job.id for job in self.jobs.values() if job.in_line and not job.suspect}
        claimed = self.machine.claim(self.workers[worker], limit)

        assert len(claimed) == min(limit, len(ready))
        assert {row["id"] for row in claimed} <= ready
        return multiple(
            *(self.jobs[row["id"]].claim(self.workers[worker], row["claim_id"]) for row in claimed)
        )

    @rule(target=attempts, worker=st.integers(0, 1))
    def claim_suspect(self, worker: int) -> MultipleResults[Attempt]:
        ready = {job.id for job in self.jobs.values() if job.in_line and job.suspect}
        claimed = self.machine.claim_suspect(self.workers[worker])

        assert len(claimed) == min(1, len(ready))
        assert {row["id"] for row in claimed} <= ready
        return multiple(
            *(self.jobs[row["id"]].claim(self.workers[worker], row["claim_id"]) for row in claimed)
        )

    @rule(attempt=attempts)
    def complete(self, attempt: Attempt) -> None:
        job, refused = self.jobs[attempt.job_id], self.machine.complete(attempt.worker, _row(attempt))
        if job.owned_by(attempt):
            job.move(Status.COMPLETED)
            assert refused == []
        else:
            done = (job.status, job.attempt) == (Status.COMPLETED, attempt.number)
            assert [row["status"] for row in refused] == ([] if done else [job.status])

    @rule(attempt=attempts, recoverable=st.booleans(), later=st.booleans())
    def fail(self, attempt: Attempt, *, recoverable: bool, later: bool) -> None:
        told = self._settle(attempt, outcome="failed", recoverable=recoverable, delay=LATER if later else 0.0)
        job = self.jobs[attempt.job_id]
        if job.owned_by(attempt):
            job.fail(recoverable=recoverable, delayed=later)
            assert told["recorded"]
        assert told["status"] == job.status

    @rule(attempt=attempts)
    def crash(self, attempt: Attempt) -> None:
        told = self._settle(attempt, outcome="crashed")
        job = self.jobs[attempt.job_id]
        if job.owned_by(attempt):
            job.crash()
            assert told["recorded"]
        assert told["status"] == job.status

    @rule(attempt=attempts)
    def release(self, attempt: Attempt) -> None:
        told = self._settle(attempt, outcome="released", reason="released: too busy")
        job = self.jobs[attempt.job_id]
        if job.owned_by(attempt):
            job.retry(suspect=job.suspect)
            assert told["recorded"]
        assert told["status"] == job.status

    @rule(attempt=attempts)
    def step(self, attempt: Attempt) -> None:
        save = "select holdfast.save_step(%s, %s, %s, %s, 'step', '', '1', false, 1, 0)"
        fence = (attempt.job_id, attempt.number, attempt.claim_id)
        if self.jobs[attempt.job_id].owned_by(attempt):
            self.machine.value(save, *fence, f"s{attempt.number}")
        else:
            with self.machine.refused("HF011"):
                self.machine.value(save, *fence, "late")

    @rule(attempt=attempts)
    def ask(self, attempt: Attempt) -> None:
        job = self.jobs[attempt.job_id]
        if job.owned_by(attempt):
            job.asked += 1
            asked = ask(self.machine, _row(attempt), f"gate{job.asked}")
            job.move(Status.WAITING_FOR_APPROVAL)
            job.approval_id, job.suspect = asked["approval_id"], False  # its worker survived it
        else:
            with self.machine.refused("HF011"):
                ask(self.machine, _row(attempt), "late")

    # -- executors -----------------------------------------------------------------------------------------------------

    @rule(target=runs, attempt=attempts)
    def hand_over(self, attempt: Attempt) -> MultipleResults[Attempt]:
        job = self.jobs[attempt.job_id]
        call = (f"{LONG}", f"{LONG}", "0", None)
        if job.owned_by(attempt):
            given = self.machine.ask("hand_over", _row(attempt), "ci", "{}", *call)["hand_over"]
            job.hand_over(given)
            self.handed[attempt.claim_id, attempt.job_id] = given
            return multiple(attempt)
        if (attempt.claim_id, attempt.job_id) in self.handed:  # a lost answer, whatever became of it since
            again = self.machine.ask("hand_over", _row(attempt), "ci", "{}", *call)["hand_over"]
            assert again == self.handed[attempt.claim_id, attempt.job_id]
        else:
            with self.machine.refused("HF011"):
                self.machine.ask("hand_over", _row(attempt), "ci", "{}", *call)
        return multiple()

    @rule(
        attempt=runs,
        action=st.sampled_from(["started", "heartbeat", "completed", "failed"]),
        recoverable=st.booleans(),
        executor=st.sampled_from(["ci", "ci", "ci", "other"]),
    )
    def callback(self, attempt: Attempt, action: str, executor: str, *, recoverable: bool) -> None:
        job, nonce = self.jobs[attempt.job_id], uuid4().hex
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

    @rule()
    def time_passes(self) -> None:
        self.machine.advance(LATER + 1)
        self.machine.value("select holdfast.admit_due(1000)")
        for job in self.jobs.values():
            if job.delayed:
                job.in_line, job.delayed = True, False

    @rule(nth=st.integers(0, 1))
    def worker_dies(self, nth: int) -> None:
        dead = self.workers[nth]
        self.machine.fall_silent(dead)
        self.machine.sweep()
        self.workers[nth] = self.machine.worker(f"w{nth}", lease=LONG)
        held = [job for job in self.jobs.values() if job.holder == dead]
        alone = all(job.suspect for job in held)
        for job in held:
            job.lose_worker(alone=alone)

    # -- what must always hold -----------------------------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        rows = self.machine.rows(
            "select j.id::uuid, j.status::text, j.attempt, j.retry_count, j.crash_count, j.suspect, j.key_held, j.holder, j.claim_order is not null as in_line,"
            "       array(select h.to_status::text from holdfast.job_history h where h.job_id = j.id order by h.seq) as path"
            "  from holdfast.job j"
        )
        seen = {
            row["id"]: (
                row["status"], row["attempt"], row["retry_count"], row["crash_count"], row["suspect"], row["key_held"],
                row["holder"], row["in_line"], row["path"],
            )
            for row in rows
        }  # fmt: skip
        expected = {
            job.id: (
                job.status, job.attempt, job.retries, job.crashes, job.suspect, job.holds_key, job.holder, job.in_line, job.path,
            )
            for job in self.jobs.values()
        }  # fmt: skip
        assert seen == expected
        self.steps += 1
        # The auditor's looks cost five times as much as what happens; what it finds seldom goes away by itself.
        if self.steps % 5 == 0:
            assert broken_rules(self.connection) == []

    def _next_id(self) -> UUID:
        """Number the jobs: of two that came into line at one moment the same goes first whenever a life is told again."""
        return UUID(int=0x01900000_0000_7000_8000_000000000000 + next(self.numbers))

    def _any(self, data: st.DataObject) -> Job | None:
        return data.draw(st.sampled_from(list(self.jobs.values()))) if self.jobs else None

    def _settle(self, attempt: Attempt, **outcome: object) -> dict[str, object]:
        (told,) = self.machine.settle(attempt.worker, _row(attempt), **{"error": {"type": "Boom"}, **outcome})
        return told


def _row(attempt: Attempt) -> dict[str, object]:
    return {"id": attempt.job_id, "attempt": attempt.number, "claim_id": attempt.claim_id}
# Of a normal run: one with which so few lives come across everything. After a change of the rules it may be another one.
SEED = 10


@pytest.fixture
def lives(connection: psycopg.Connection) -> Iterator[type[WaitingLives]]:
    # The same is asked again and again, of so few rows that one plan is as good as another.
    threshold, connection.prepare_threshold = connection.prepare_threshold, 0
    shared = {"connection": connection, "began": count(), "happened": Counter()}
    lives = type("Lives", (WaitingLives,), shared)
    yield lives if LONG else seed(SEED)(lives)
    connection.prepare_threshold = threshold
    connection.rollback()


def begin_anew(connection: Connection) -> None:
    """Begin the transaction in which every life is a savepoint, after what is left of those before is swept away."""
    connection.rollback()
    connection.autocommit = True
    connection.execute("vacuum")
    connection.autocommit = False
    connection.execute("set plan_cache_mode = force_generic_plan")
    connection.execute(CLOCK)


# A failure is cut down to the fewest calls that show it, which takes a while.
@pytest.mark.timeout(within(600))
def test_whatever_happens_to_jobs_the_machine_does_what_its_model_does(lives: type[WaitingLives]) -> None:
    run_state_machine_as_test(
        lives,
        settings=settings(max_examples=times(9, 10_000), stateful_step_count=40),
    )

    assert EVERYTHING - {what for what, often in lives.happened.items() if often} == set()
