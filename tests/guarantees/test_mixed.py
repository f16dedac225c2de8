"""Everything at once: limits, rates, flags, pauses, steps, waits, approvals, outside runs, flows, compensation, cancels and retries on the same jobs.

A seeded story of plain SQL calls in random legal order, with time going by; then whoever can decide, report or finish does so. Whatever happened
before, nothing may be stranded, nothing may be left in hand, and history, usage and retention must tell the same.
"""

import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from guarantees.audit import broken_projections, broken_rules, left_at_rest
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on
from world.often import times

TASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "undone": {"compensate": True, "compensate_on_cancel": True, "compensation_retries": 2},
    "one_each": {"limits": [{"key": "user:{user}", "max": 1}], "compensate": True, "compensation_retries": 1},
    "lends": {"limits": [{"key": "user:{user}", "max": 2, "release_while_waiting": True}, {"key": "all", "max": 4}]},
    "refuses": {"limits": [{"key": "once:{user}", "max": 2, "policy": "reject"}]},
    "slow": {"rates": [{"key": "mails:{user}", "max": 3, "per": 20}], "compensate_on_cancel": True},
    "new": {"flag": "NEW", "rollout_by": "user", "compensate": True, "compensate_on_cancel": True},
    "dark": {"flag": "DARK"},
    "all": {
        "limits": [{"key": "user:{user}", "max": 1, "release_while_waiting": True}],
        "rates": [{"key": "all", "max": 5, "per": 10}],
        "flag": "NEW",
        "compensate": True,
        "compensate_on_cancel": True,
    },
}  # fmt: skip
QUEUES = ("default", "side")

Held = tuple[UUID, Row]  # a worker, and the attempt it claimed

CLOCK = """
create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe
return pg_catalog.clock_timestamp() + make_interval(secs => coalesce(nullif(current_setting('story.ahead', true), ''), '0')::float8)
"""
OF_JOBS = (
    "job", "job_history", "attempt", "step", "checkpoint", "progress", "wait", "dependency", "activity", "approval",
    "approver", "approval_decision", "dispatch", "callback_nonce", "slot",
)  # fmt: skip


class Story:
    """One teller, who knows the jobs that run because he claimed them."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.chance = random.Random(seed)
        self.ahead = 0.0
        self.running: dict[UUID, Held] = {}
        self.workers = [machine.worker(f"w{n}", lease=10**6) for n in range(3)]
        self.waits: dict[UUID, tuple[str, tuple[Any, ...]]] = {}
        self.deployed: set[str] = set()
        self.told: list[str] = []
        for queue in QUEUES:
            self.define(queue)

    def define(self, queue: str = "default", **settings: Any) -> None:
        for name, options in TASKS.items():
            self.machine.register(name, queue=queue, max_retries=2, options=options, timeout=300, **settings)

    # -- what anybody does -----------------------------------------------------------------------------------------------

    def enqueue(self) -> None:
        jobs: list[dict[str, Any]] = []
        for _ in range(self.chance.choice((1, 1, 2, 7))):
            job: dict[str, Any] = {
                "id": str(self.machine.value("select holdfast.new_id()")),
                "task": self.chance.choice(list(TASKS)),
                "payload": {"user": self.chance.randrange(5)},
                "queue": self.chance.choice(QUEUES),
                "priority": self.chance.choice((0, 0, 50)),
            }
            if self.chance.random() < 0.5:
                job["tenant"] = self.chance.choice(("a", "b"))
            if self.chance.random() < 0.2:
                job["run_in"] = self.chance.choice((5, 60))
            if self.chance.random() < 0.3:
                before = [one["id"] for one in jobs] + [str(one) for one in self.some_jobs(3)]
                job["after"] = self.chance.sample(before, min(len(before), 2))
                job["on_parent_failure"] = self.chance.choice(("cancel", "run"))
            if self.chance.random() < 0.1:
                job |= {
                    "key": f"k{self.chance.randrange(4)}",
                    "on_conflict": self.chance.choice(("return", "replace")),
                }
            jobs.append(job)
        self.machine.enqueue_many(jobs)

    def some_jobs(self, many: int, where: str = "true") -> list[UUID]:
        rows = self.machine.rows(
            f"select id::uuid from holdfast.job where {where} order by seq, id limit 200"
        )
        return [row["id"] for row in self.chance.sample(rows, min(many, len(rows)))]

    def cancel(self) -> None:
        for job_id in self.some_jobs(1, "finished_at is null"):
            self.machine.value("select holdfast.cancel(%s, 'ann', 'story')", job_id)

    def retry(self) -> None:
        for job_id in self.some_jobs(1, "status = 'FAILED'"):
            self.machine.value("select holdfast.retry(%s, 'ann')", job_id)

    def emit(self) -> None:
        self.machine.value("select holdfast.emit(%s)", f"e{self.chance.randrange(4)}")

    def decide(self) -> None:
        decision = self.chance.choice(("approve", "approve", "deny"))
        rows = self.machine.rows(
            "select id from holdfast.approval where decided_at is null order by id limit 20"
        )
        for row in self.chance.sample(rows, min(2, len(rows))):
            self.machine.rows(
                "select holdfast.decide(%s, %s, %s, 'story')", row["id"], self.chance.choice("xyz"), decision
            )

    def switch(self) -> None:
        flag = self.chance.choice(("NEW", "DARK"))
        share = self.chance.choice((0, 30, 70, 100))
        self.machine.value(
            "select holdfast.set_flag(%s, %s, %s, 'ann')", flag, self.chance.random() < 0.7, share
        )

    def pause(self) -> None:
        task = self.chance.choice(list(TASKS))
        resume_in = self.chance.choice((None, "20 seconds"))
        self.machine.value("select holdfast.pause_task(%s, 'ann', 'story', %s::interval)", task, resume_in)

    def resume(self) -> None:
        for row in self.machine.rows("select name::text from holdfast.task where paused_at is not null"):
            self.machine.value("select holdfast.resume_task(%s)", row["name"])

    def limit_queue(self) -> None:
        self.machine.value("select holdfast.limit_queue('side', %s::int)", self.chance.choice((None, 1, 3)))

    def deploy(self) -> None:
        """Another release, which drops a task's gates or brings them back."""
        name = self.chance.choice(list(TASKS))
        options = TASKS[name] if self.chance.random() < 0.6 else {}
        self.deployed.add(name)
        self.machine.register(name, max_retries=2, options=options, timeout=300)

    # -- what workers do -------------------------------------------------------------------------------------------------

    def claim(self, many: int = 6) -> None:
        worker = self.chance.choice(self.workers)
        for queue in QUEUES:
            for row in self.machine.claim(worker, many, queue=queue, tasks=tuple(TASKS)):
                self.running[row["id"]] = (worker, row)
        claim_id = uuid4()
        for row in self.machine.rows(
            "select * from holdfast.claim_suspect(%s, %s, %s, %s)",
            worker,
            claim_id,
            list(QUEUES),
            list(TASKS),
        ):
            self.running[row["id"]] = (worker, {**row, "claim_id": claim_id})

    def work(self) -> None:
        """One thing that an attempt does, if there is one; mostly its last."""
        if not self.running:
            return
        job_id = self.chance.choice(list(self.running))
        worker, row = held = self.running.pop(job_id)
        fence = (job_id, row["attempt"], row["claim_id"])
        if job_id in self.waits:  # a new attempt comes by the same wait again
            function, arguments = self.waits.pop(job_id)
            self.wait(function, held, *arguments)
            return
        name = f"s{self.chance.randrange(10**6)}"
        what = self.chance.choice(
            ("complete", "complete", "here", "settle", "settle", "settle", "settle", "save", "save", "suspend", "suspend", "suspend",
             "ask", "ask", "hand_over", "children")
        )  # fmt: skip
        match what:
            case "complete":
                self.machine.complete(worker, row, result="1")
            case "here":
                self.call("complete_here", *fence, Jsonb(1), None)
            case "settle":
                self.settle(worker, row)
            case "suspend":
                self.suspend(held, name)
            case "ask":
                gate = {
                    "question": "may it?", "quorum": self.chance.choice((1, 2)),
                    "expires_in": self.chance.choice((None, 30)), "on_expiry": self.chance.choice(("fail", "deny", "approve")),
                }  # fmt: skip
                self.call("ask", *fence, name, None, Jsonb(gate), None)
            case "hand_over":
                self.call(
                    "hand_over", *fence, "ci", Jsonb({}), 60.0, 200.0, self.chance.choice((0.0, 5.0)), None
                )
            case _:
                self.go_further(what, held, name)

    def settle(self, worker: UUID, row: Row) -> None:
        outcome = self.chance.choice(("failed", "failed", "crashed", "released"))
        self.machine.settle(
            worker, row, outcome=outcome, error={"type": "Boom"}, delay=self.chance.choice((0, 10)),
            recoverable=self.chance.random() < 0.5, reason="story",
        )  # fmt: skip

    def suspend(self, held: Held, name: str) -> None:
        _, row = held
        match self.chance.choice(("sleep", "event", "jobs")):
            case "sleep":
                fence = (row["id"], row["attempt"], row["claim_id"])
                self.call("sleep_until", *fence, name, None, self.chance.choice((5.0, 300.0)), None, None)
            case "event":
                timeout = self.chance.choice((None, 30.0))
                self.wait("wait_for_event", held, name, None, f"e{self.chance.randrange(4)}", timeout, None)
            case _:
                others = self.some_jobs(2, f"id <> '{row['id']}'")
                if others and "compensates" not in (row["extras"] or ""):  # a retry by hand waits for those
                    # Whoever holds a slot gives up some day: those it waits for may need the same slot.
                    patience = None if row["task"] in {"plain", "undone"} else 60.0
                    self.wait("wait_for_jobs", held, name, None, others, patience, None)
                else:
                    self.running[row["id"]] = held

    def go_further(self, what: str, held: Held, name: str) -> None:
        """What leaves the attempt running."""
        _, row = held
        fence = (row["id"], row["attempt"], row["claim_id"])
        self.running[row["id"]] = held
        if what == "save":
            self.call("save_step", *fence, name, "step", None, Jsonb(1), self.chance.random() < 0.5, 1, 0.1)
        else:
            jobs = [
                {"task": self.chance.choice(("plain", "lends")), "payload": {"user": 1}} for _ in range(3)
            ]
            self.call("enqueue_children", *fence, name, None, Jsonb(jobs), None)

    def wait(self, function: str, held: Held, *arguments: Any) -> None:
        _, row = held
        (came,) = self.call(function, row["id"], row["attempt"], row["claim_id"], *arguments)
        if came["waits"]:
            self.waits[row["id"]] = (function, arguments)
        else:
            self.running[row["id"]] = held

    def call(self, function: str, *arguments: Any) -> list[Row]:
        places = ", ".join(["%s"] * len(arguments))
        return self.machine.rows(f"select * from holdfast.{function}({places})", *arguments)

    def die(self) -> None:
        """A worker dies with what it holds, and another comes."""
        worker = self.workers.pop(0)
        self.running = {one: held for one, held in self.running.items() if held[0] != worker}
        if self.chance.random() < 0.3:
            self.machine.value("select holdfast.retire_worker(%s)", worker)
        else:
            self.machine.run("update holdfast.worker set lease = interval '1 second' where id = %s", worker)
            self.advance(2)
        self.workers.append(self.machine.worker(f"w{self.chance.random()}", lease=10**6))

    def acknowledge(self) -> None:
        for worker in self.workers:
            self.machine.rows(
                "select holdfast.acknowledge_stop(%s, array(select compensates from holdfast.job where held_by = 'worker:' || %s))",
                worker, worker,
            )  # fmt: skip

    # -- what the outside does -------------------------------------------------------------------------------------------

    def call_executor(self) -> None:
        for run in self.machine.rows(
            "select * from holdfast.take_dispatches(%s, '{ci}', 5, 30)", self.workers[0]
        ):
            match self.chance.choice(("sent", "sent", "failed", "permanent", "nothing")):
                case _ if run["wanted"] == "cancel":
                    self.machine.rows(
                        "select holdfast.dispatch_cancelled(%s, %s, null, null)",
                        run["id"],
                        self.chance.random() < 0.5,
                    )
                case "sent":
                    self.machine.rows("select holdfast.dispatch_sent(%s, 'r', null)", run["id"])
                case "nothing":
                    pass
                case how:
                    self.machine.rows(
                        "select holdfast.dispatch_failed(%s, %s, '{\"message\": \"no\"}', %s, %s, 5, 3)",
                        run["id"], run["try"], how == "permanent", self.chance.random() < 0.5,
                    )  # fmt: skip

    def report(self, action: str | None = None) -> None:
        for run in self.machine.rows(
            "select * from holdfast.dispatch where sent_at is not null order by created_at desc limit 6"
        ):
            what = action or self.chance.choice(("started", "heartbeat", "progress", "completed", "failed"))
            self.machine.value(
                "select holdfast.callback(%s, %s, %s, 'ci', %s, %s, %s, %s)",
                run["job_id"], run["attempt"], run["claim_id"], what, str(uuid4()), b"x" * 32, Jsonb({"done": 1, "total": 2}),
            )  # fmt: skip

    # -- what time does --------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        self.ahead += seconds
        self.machine.rows("select set_config('story.ahead', %s, false)", str(self.ahead))

    def tick(self) -> None:
        self.advance(self.chance.choice((1, 10, 45, 400)))

    def sweep(self) -> None:
        self.machine.sweep()

    def admit(self) -> None:
        self.machine.rows("select * from holdfast.admit_due(1000)")

    def project(self) -> None:
        self.machine.rows("select * from holdfast.project()")

    # -- the story ---------------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        deeds = {
            self.enqueue: 12, self.admit: 12, self.claim: 12, self.work: 45, self.cancel: 3, self.retry: 3, self.emit: 3, self.decide: 5,
            self.switch: 2, self.pause: 1, self.resume: 2, self.limit_queue: 1, self.deploy: 1, self.die: 1, self.acknowledge: 1,
            self.call_executor: 4, self.report: 4, self.tick: 5, self.sweep: 5, self.project: 2,
        }  # fmt: skip
        (deed,) = self.chance.choices(list(deeds), weights=list(deeds.values()))
        self.told.append(deed.__name__)
        try:
            with self.machine.connection.transaction():
                deed()
        except psycopg.Error as refusal:  # a refusal is an answer; anything else is a defect
            if not (refusal.sqlstate or "").startswith("HF") or refusal.sqlstate in {"HF001", "HF003"}:
                raise

    def wind_up(self) -> None:
        """Let everybody do what is theirs to do, until nothing is left or nothing moves."""
        self.define()
        for flag in ("NEW", "DARK"):
            self.machine.value("select holdfast.set_flag(%s, true, 100)", flag)
        self.resume()
        for _ in range(200):  # a queue that is limited to one lets one in a round
            self.admit()
            self.sweep()
            self.acknowledge()
            for row in self.machine.rows("select id from holdfast.approval where decided_at is null"):
                self.machine.rows("select holdfast.decide(%s, 'x', 'approve')", row["id"])
                self.machine.rows("select holdfast.decide(%s, 'y', 'approve')", row["id"])
            for n in range(4):
                self.machine.value("select holdfast.emit(%s)", f"e{n}")
            self.call_executor()
            self.report("completed")
            self.claim(100)
            for job_id, (worker, row) in list(self.running.items()):
                self.machine.complete(worker, row, result="1")
                del self.running[job_id]
            for row in self.machine.rows(
                "select id::uuid from holdfast.job j where j.held_by like 'compensation %'"
                " and not exists (select from holdfast.job c where c.compensates = j.retry_of and c.status <> 'FAILED')"
            ):
                self.machine.value(
                    "select holdfast.cancel(%s)", row["id"]
                )  # its compensation failed: a person decides
            if not self.machine.value("select count(*) from holdfast.job where finished_at is null"):
                return
            self.advance(30)

    def left(self) -> list[tuple[str, Any]]:
        """What is stranded or overdue; a task whose limits another release changed runs without a slot of the new ones."""
        changed = {
            row["id"]
            for row in self.machine.rows(
                "select id::uuid from holdfast.job where task = any (%s)", list(self.deployed)
            )
        }
        return [
            (said, job_id)
            for said, job_id in left_at_rest(self.machine.connection)
            if not (said.startswith("F06") and job_id in changed)
        ]


@pytest.fixture
def machine(holdfast_db: ScratchDatabase) -> Iterator[Machine]:
    with machine_on(holdfast_db.owner_url) as machine:
        machine.run(CLOCK)
        yield machine


@pytest.mark.parametrize("seed", range(times(1, 20)))
def test_whatever_is_combined_nothing_is_stranded_or_left_in_hand(machine: Machine, seed: int) -> None:
    story = Story(machine, seed)
    for number in range(500):
        story.go_on()
        if number % 50 == 49:
            story.sweep()  # it heals what a change of settings left behind
            story.admit()
            assert broken_rules(machine.connection) == [], story.told[-60:]
            assert story.left() == [], story.told[-60:]
    story.wind_up()

    left = machine.rows(
        "select id::uuid, task, status, held_by, ties, due_at, claim_order, holder from holdfast.job where finished_at is null"
    )
    assert left == []
    assert left_at_rest(machine.connection) == []
    assert broken_rules(machine.connection) == []
    while machine.one("select * from holdfast.project()")["projected"]:
        pass
    assert broken_projections(machine.connection) == []
    story.define(retention=60)
    story.advance(3600)
    while machine.one("select * from holdfast.keep_up()")["removed"]:
        pass  # what a failed compensation was to undo goes after it, and a retry after what it retries
    assert {table: machine.count(f"holdfast.{table}") for table in OF_JOBS} == dict.fromkeys(OF_JOBS, 0)
