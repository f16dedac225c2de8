"""A small past that has a bit of everything in it: what the auditor must find clean, and what its corruptions are made from."""

from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from sql.support import Machine, Row
from sql.timetables import HOUR, Timetable

TASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "undone": {"compensate": True},
    "limited": {"limits": [{"key": "user:{user}", "max": 1}]},
    "rated": {"rates": [{"key": "mails", "max": 1, "per": 3600}]},
    "paused": {},
    "flagged": {"flag": "beta"},
}


class Past:
    """Jobs by name, in every status and with everything that can hang on a job."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ids: dict[str, Any] = {}
        for name, options in TASKS.items():
            machine.register(name, max_retries=1, options=options)
        self.worker = machine.worker("w", lease=10**6)
        machine.run("update holdfast.worker set died_at = seen_at where id = %s", machine.worker("gone"))
        self.plain()
        self.waits()
        self.approvals()
        self.outside()
        self.gates()
        self.origins()
        self.words()
        while machine.value("select holdfast.has_unprojected()"):
            machine.rows("select * from holdfast.project()")

    def job(self, name: str, task: str = "plain", **options: Any) -> UUID:
        options.setdefault("tenant", "acme")
        job_id = self.machine.enqueue(task, {"user": 1}, subject=f"org:{name}", **options)
        self.ids[name] = job_id
        return job_id

    def claimed(self, name: str, task: str = "plain", **options: Any) -> Row:
        """Make a job and claim it; others in line of its task would come first."""
        job_id = self.job(name, task, **options)
        return self.again(job_id, task)

    def again(self, job_id: UUID, task: str = "plain") -> Row:
        self.machine.rows("select * from holdfast.admit_due(100)")
        rows = self.machine.claim(self.worker, 100, tasks=(task,))
        (row,) = [each for each in rows if each["id"] == job_id]
        return row

    def complete(self, row: Row) -> None:
        assert self.machine.complete(self.worker, row, result="1") == []

    def fail(self, row: Row, **how: Any) -> None:
        error = {"type": "Boom", "message": "no", "traceback": "line 7"}
        self.machine.settle(self.worker, row, outcome="failed", error=error, reason="boom", **how)

    def plain(self) -> None:
        done = self.claimed("done")
        self.machine.ask("save_step", done, "fetch", "step", None, Jsonb(1), "no", 1, 0.0)
        self.machine.ask("save_checkpoint", done, Jsonb({"page": 2}))
        self.machine.ask("report_progress", done, 1.0, 2.0, "half")
        self.machine.complete(self.worker, done, result="1", logs='[{"message": "hello"}]')
        failed = self.claimed("failed", key="k", key_scope="active")
        self.fail(failed, delay=0)
        self.fail(self.again(self.ids["failed"]))
        self.ids["retried"] = self.machine.value("select holdfast.retry(%s, 'ann')", self.ids["failed"])
        self.complete(self.again(self.ids["retried"]))
        self.complete(self.claimed("kept", key="once", key_scope="ever"))
        self.complete(self.claimed("kept elsewhere", key="once", key_scope="ever", tenant="globex"))
        self.complete(self.claimed("earned", key="won", key_scope="success"))
        self.job("cancelled", key="again", key_scope="active")
        self.machine.value("select holdfast.cancel(%s, 'ann', 'no more')", self.ids["cancelled"])
        self.claimed("running", key="again", key_scope="active")
        self.claimed("stopped")
        self.machine.value("select holdfast.cancel(%s, 'ann', 'at once')", self.ids["stopped"])
        undone = self.claimed("undone", "undone")
        self.fail(undone, recoverable=False)
        self.ids["undo"] = self.machine.value(
            "select id::uuid from holdfast.job where compensates = %s", self.ids["undone"]
        )
        self.complete(self.again(self.ids["undo"], "undone"))

    def waits(self) -> None:
        row = self.claimed("listening")
        self.machine.ask("wait_for_event", row, "hears", None, "paid", None, None)
        row = self.claimed("sleeping")
        self.machine.ask("sleep_until", row, "nap", None, 3600.0, None, None)
        row = self.claimed("woken")
        self.machine.ask("wait_for_event", row, "hears", None, "shipped", None, None)
        self.machine.value("select holdfast.emit('shipped', '1', 'acme')")
        self.machine.value("select holdfast.emit('shipped', '1', 'globex')")
        row = self.again(self.ids["woken"])
        self.machine.ask("wait_for_event", row, "hears", None, "shipped", None, None)
        self.complete(row)
        first, second = (str(self.machine.value("select holdfast.new_id()")) for _ in range(2))
        self.machine.enqueue_many(
            [
                {"id": first, "task": "plain", "payload": {}, "tenant": "acme", "run_in": 3600},
                {"id": second, "task": "plain", "payload": {}, "tenant": "acme", "after": [first]},
            ]
        )
        self.ids |= {"first": UUID(first), "second": UUID(second)}

    def ask(self, name: str, **gate: Any) -> UUID:
        row = self.claimed(name, requested_by="eve")
        asked = {"question": "may it?", "facts": {"amount": 7}, **gate}
        approval: UUID = self.machine.ask("ask", row, "gate", None, Jsonb(asked), None)["approval_id"]
        self.ids[f"gate of {name}"] = approval
        return approval

    def decide(self, approval: UUID, who: str, decision: str) -> None:
        (row,) = self.machine.rows(
            "select * from holdfast.decide(%s, %s, %s, 'why')", approval, who, decision
        )
        assert row["result"] in {"decided", "counted"}

    def approvals(self) -> None:
        self.ask("asking")
        self.ask("asking too")
        self.decide(self.ask("denied", approvers=["ann", "bob"]), "ann", "deny")
        both = self.ask("approved", quorum=2)
        self.decide(both, "ann", "approve")
        self.decide(both, "bob", "approve")
        row = self.again(self.ids["approved"])
        gate = {"question": "may it?", "facts": {"amount": 7}, "quorum": 2}
        self.machine.ask("ask", row, "gate", None, Jsonb(gate), None)
        self.complete(row)
        self.decide(self.ask("trusted", self_approval=True), "eve", "approve")
        self.ask("withdrawn")
        self.machine.value("select holdfast.cancel(%s, 'eve', 'never mind')", self.ids["withdrawn"])
        for on_expiry in ("fail", "deny", "approve"):
            gate = {"approvers": ["ann", "bob"], "quorum": 2, "expires_in": 0.001, "on_expiry": on_expiry}
            self.ask(f"left to {on_expiry}", **gate)
            while not self.machine.value("select holdfast.expire_approvals(10)"):
                pass

    def hand_over(self, name: str) -> Row:
        row = self.claimed(name)
        self.machine.ask("hand_over", row, "ci", Jsonb({}), 3600.0, 3600.0, 0.0, None)
        for run in self.machine.rows(
            "select * from holdfast.take_dispatches(%s, '{ci}', 5, 30)", self.worker
        ):
            self.machine.rows("select holdfast.dispatch_sent(%s, 'r', null)", run["id"])
        return row

    def report(self, row: Row, action: str) -> str:
        answer: str = self.machine.value(
            "select holdfast.callback(%s, %s, %s, 'ci', %s, %s, %s, %s)",
            row["id"], row["attempt"], row["claim_id"], action, str(uuid4()), b"x" * 32, Jsonb({"run_id": "7", "done": 1, "total": 2}),
        )  # fmt: skip
        return answer

    def outside(self) -> None:
        assert self.report(self.hand_over("outside"), "progress") == "ok"
        reported = self.hand_over("reported")
        assert [self.report(reported, action) for action in ("started", "completed", "completed")] == [
            "ok",
            "ok",
            "already_over",
        ]
        assert self.report(self.hand_over("reported too"), "completed") == "ok"
        assert self.report(self.hand_over("broken off"), "failed") == "ok"
        self.machine.run(
            "update holdfast.job set due_at = holdfast.clock() where id = %s", self.ids["broken off"]
        )
        self.again(self.ids["broken off"])
        self.decide(self.ask("called off"), "ann", "approve")
        self.machine.value("select holdfast.cancel(%s, 'eve', 'too late')", self.ids["called off"])
        self.decide(self.ask("allowed"), "ann", "approve")

    def gates(self) -> None:
        self.claimed("slotted", "limited")
        self.job("parked", "limited")
        self.job("rated", "rated")
        self.machine.rows("select * from holdfast.admit_due(100)")
        self.machine.run("select holdfast.pause_task('paused')")
        self.machine.run("select holdfast.set_flag('beta', false)")
        for name, task in (("slowed", "rated"), ("halted", "paused"), ("unflagged", "flagged")):
            self.job(name, task, key="once", key_scope="ever")
        self.machine.rows("select * from holdfast.admit_due(100)")

    def origins(self) -> None:
        self.schedules()
        self.ids["scheduled"] = self.machine.value(
            "select job_id from holdfast.schedule_run where schedule = 'nightly' and outcome = 'fired'"
        )
        for name, event, tenant in (("delivered", "evt_1", "acme"), ("delivered to all", "evt_2", None)):
            with self.machine.connection.transaction():
                self.machine.value(
                    "select holdfast.begin_webhook(holdfast.new_id(), 'stripe', %s, 'paid', %s, 'handled', '{}')",
                    event,
                    tenant,
                )
                (born,) = self.machine.enqueue_many(
                    [{"task": "plain", "payload": {}, "run_in": 3600, "tenant": "acme"}]
                )
            self.ids[name] = born["job_id"]

    def words(self) -> None:
        """Publish what an application may: in a job's own channel, under the kinds and with the words of moves, and whatever it likes in them."""
        for data in ({"seq": "a", "attempt": 1}, {"seq": 1, "attempt": 1, "status": "FAILED"}, {"seq": 1e99}):
            self.machine.value(
                "select holdfast.publish('subject:org:done', 'job.started', %s)::text", Jsonb(data)
            )

    def schedules(self) -> None:
        """Let schedules of each kind have come from some hours ago to now."""
        timetable = Timetable(self.machine)
        timings: dict[str, dict[str, Any]] = {
            "nightly": {"every": HOUR},
            "late": {"every": HOUR, "missed": "skip"},
            "owed": {"cron": "*/20 * * * *", "missed": "all"},
        }
        for name, timing in timings.items():
            timetable.create(name, task="plain", options={"tenant": "acme"}, **timing)
        back = "- interval '4 hours 10 minutes'"
        self.machine.run(
            f"update holdfast.schedule set anchor = anchor {back}, settled_to = settled_to {back}, counted_from = counted_from {back}"
        )
        timetable.settle()
