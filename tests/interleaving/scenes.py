"""The scenes in which two operations meet: a job brought to a place where much can happen to it at once."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from sql.asking import GATE
from sql.runs import take
from sql.support import Machine, Row

TASKS = ("plain", "limited", "undone", "kept")
OTHER_QUEUE = "elsewhere"
_ID_OR_TIME = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the operations of a scene need to know."""

    since: UUID  # jobs of the scene have greater ids
    job_id: UUID
    other: UUID  # a worker that has nothing yet
    claimed: Row | None = None  # the newest attempt, with its worker
    approval_id: UUID | None = None
    stale: bool = False  # that attempt has lost the job to another
    made: UUID | None = None  # a job that this attempt has made, and may wait for


Scene = Callable[[Machine], Facts]


def prepare(machine: Machine) -> None:
    """Register what the scenes enqueue."""
    machine.register("plain", max_retries=1)
    machine.register("limited", max_retries=1, options={"limits": [{"key": "all", "max": 1}]})
    machine.register("undone", max_retries=0, options={"compensate": True})
    machine.register("kept", max_retries=0, retention=1)
    machine.register("elsewhere", queue=OTHER_QUEUE)
    machine.run("update holdfast.task set retention = interval '1 microsecond' where name = 'kept'")


def pending(machine: Machine) -> Facts:
    """A job in line."""
    return _born(machine, "plain")


def running(machine: Machine) -> Facts:
    """An attempt whose worker has not been heard for longer than its lease."""
    return _silent(machine, _claimed(machine, _born(machine, "plain")))


def suspected(machine: Machine) -> Facts:
    """A job in line whose worker died with it, and still believes in its attempt."""
    facts = running(machine)
    machine.sweep()
    return replace(facts, stale=True)


def retried(machine: Machine) -> Facts:
    """A second attempt, which is the last, after the first one's worker died; that worker still believes in it."""
    facts = suspected(machine)
    machine.run("update holdfast.job set suspect = false where id = %s", facts.job_id)
    _claimed(machine, facts, worker=machine.worker("again"))
    return facts


def given_back(machine: Machine) -> Facts:
    """A second attempt by the same worker that gave the first one back, and has forgotten that it did."""
    facts = _claimed(machine, _born(machine, "plain"))
    assert facts.claimed is not None
    machine.settle(facts.claimed["worker"], facts.claimed, outcome="released", reason="released: too busy")
    _claimed(machine, facts, worker=facts.claimed["worker"])
    return replace(facts, stale=True)


def asked(machine: Machine) -> Facts:
    """A job that waits for a decision."""
    return _asked(machine, expires_in=3600)


def asked_late(machine: Machine) -> Facts:
    """A job whose decision is overdue, and nobody has noticed."""
    return _asked(machine, expires_in=0.000001)


def handed_over(machine: Machine) -> Facts:
    """A job in an executor's hands, which has been silent for too long."""
    facts = _claimed(machine, _born(machine, "plain"))
    assert facts.claimed is not None
    dispatch = machine.ask("hand_over", facts.claimed, "ci", "{}", 600.0, 900.0, 0.0, None)["hand_over"]
    take(machine)
    machine.value("select holdfast.dispatch_sent(%s, null, null)", dispatch)
    machine.run("update holdfast.dispatch set sent_at = sent_at - interval '1 hour' where id = %s", dispatch)
    return facts


def failed(machine: Machine) -> Facts:
    """A job that has failed and is older than its task's retention."""
    facts = _claimed(machine, _born(machine, "kept"))
    assert facts.claimed is not None
    machine.settle(facts.claimed["worker"], facts.claimed, outcome="failed", error={"type": "Boom"})
    while machine.one("select * from holdfast.project()")["more"]:
        pass
    return facts


def limited(machine: Machine) -> Facts:
    """An attempt that holds the only slot, and a job that waits for it."""
    facts = _born(machine, "limited")
    machine.enqueue("limited")
    machine.value("select holdfast.admit_due(10)")
    return _silent(machine, _claimed(machine, facts))


def followed(machine: Machine) -> Facts:
    """An attempt, and a job that runs after it."""
    facts = _born(machine, "plain")
    machine.enqueue_many([{"task": "plain", "payload": {}, "after": [str(facts.job_id)]}])
    return _silent(machine, _claimed(machine, facts))


def undone(machine: Machine) -> Facts:
    """An attempt that leaves something to undo when it fails."""
    return _silent(machine, _claimed(machine, _born(machine, "undone")))


def parent(machine: Machine) -> Facts:
    """An attempt that has made a job, which is in line."""
    facts = _claimed(machine, _born(machine, "plain"))
    (born,) = machine.enqueue_many([{"task": "plain", "payload": {}, "parent": str(facts.job_id)}])
    return _silent(machine, replace(facts, made=born["job_id"]))


def child(machine: Machine) -> Facts:
    """The same, but it is the job made to which things are done, and the attempt is its parent's."""
    facts = parent(machine)
    assert facts.made is not None
    return replace(facts, job_id=facts.made)


def asking_child(machine: Machine) -> Facts:
    """The same, but the job made waits for a decision."""
    facts = child(machine)
    attempt = _claimed(machine, facts, worker=machine.worker("again"))
    return replace(facts, approval_id=_ask(machine, attempt, expires_in=3600))


def awaited(machine: Machine) -> Facts:
    """A job that waits for one it has made, and an attempt at that one."""
    facts = parent(machine)
    assert facts.made is not None
    machine.ask("wait_for_jobs", facts.claimed or {}, "w", "", [facts.made], None, None)
    attempt = _claimed(machine, replace(facts, job_id=facts.made), worker=machine.worker("again"))
    return _silent(machine, replace(attempt, job_id=facts.job_id, made=None))


SCENES: tuple[Scene, ...] = (
    pending, running, suspected, retried, given_back, asked, asked_late, handed_over, failed, limited, followed, undone,
    parent, child, asking_child, awaited,
)  # fmt: skip


def _born(machine: Machine, task: str) -> Facts:
    since = machine.value("select holdfast.new_id()")
    return Facts(since, machine.enqueue(task), machine.worker("other"))


def _claimed(machine: Machine, facts: Facts, worker: UUID | None = None) -> Facts:
    holder = worker or machine.worker("first")
    (claimed,) = [row for row in machine.claim(holder, tasks=TASKS) if row["id"] == facts.job_id]
    return replace(facts, claimed={**claimed, "worker": holder})


def _silent(machine: Machine, facts: Facts) -> Facts:
    assert facts.claimed is not None
    machine.run(
        "update holdfast.worker set seen_at = seen_at - interval '1 hour' where id = %s",
        facts.claimed["worker"],
    )
    return facts


def _asked(machine: Machine, expires_in: float) -> Facts:
    facts = _claimed(machine, _born(machine, "plain"))
    return replace(facts, approval_id=_ask(machine, facts, expires_in))


def _ask(machine: Machine, attempt: Facts, expires_in: float) -> UUID:
    gate: dict[str, Any] = {**GATE, "expires_in": expires_in}
    approval: UUID = machine.ask("ask", attempt.claimed or {}, "refund", None, Jsonb(gate), None)[
        "approval_id"
    ]
    return approval


# -- afterwards ------------------------------------------------------------------------------------------------------------

# Everything that an order of two operations can make different, without times and ids.
_FINGERPRINT = """
with scene as (
  select j.*, row_number() over (order by j.id) as nth from holdfast.job j where j.id > %(since)s)
select coalesce(jsonb_agg(to_jsonb(s) || jsonb_build_object(
    'history', (select jsonb_agg(concat_ws(' ', h.from_status, '>', h.to_status, h.attempt, h.actor, h.reason) order by h.seq)
                  from holdfast.job_history h where h.job_id = s.id),
    'attempts', (select jsonb_agg(concat_ws(' ', a.attempt, a.worker, a.outcome) order by a.attempt) from holdfast.attempt a where a.job_id = s.id),
    'steps', (select jsonb_agg(concat_ws(' ', t.name, t.attempt) order by t.name) from holdfast.step t where t.job_id = s.id),
    'approvals', (select jsonb_agg(jsonb_build_array(a.decision, a.decided_by, (select count(*) from holdfast.approval_decision v where v.approval_id = a.id)))
                    from holdfast.approval a where a.job_id = s.id),
    'runs', (select jsonb_agg(jsonb_build_array(d.state, d.next_try_at is null, d.cancel_wanted_at is null, d.over_at is null, d.ended_at is null))
               from holdfast.dispatch d where d.job_id = s.id),
    'slots', (select jsonb_agg(concat_ws(' ', l.key, l.n)) from holdfast.slot l where l.job_id = s.id),
    'notes', (select jsonb_agg(n.kind order by n.kind) from holdfast.activity n where n.job_id = s.id),
    'waits', (select jsonb_agg(w.remaining) from holdfast.wait w where w.job_id = s.id)) order by s.nth), '[]')::text
  from (select c.nth, c.id, c.status, c.attempt, c.retry_count, c.crash_count, c.suspect, c.ties, c.held_by, c.key_held, c.seq,
               c.claim_order is not null as in_line, c.due_at is not null as due, c.holder is not null as held,
               c.approval_id is not null as asks, c.finished_at is not null as finished, c.result is not null as answered,
               c.error ->> 'type' as error, c.task, c.queue, c.priority, c.retry_of is not null as retries, c.compensates is not null as undoes
          from scene c) as s
"""


def fingerprint(machine: Machine, facts: Facts) -> str:
    """Tell how a scene ended."""
    with machine.connection.cursor() as cursor:
        cursor.execute(_FINGERPRINT, {"since": facts.since})
        (told,) = cursor.fetchone() or ("",)
    return _ID_OR_TIME.sub("…", told)


_STRANGERS = """
select h.actor || ' ended attempt ' || h.attempt || ' of ' || c.actor as told
  from holdfast.job_history h
  join holdfast.job_history c on c.job_id = h.job_id and c.attempt = h.attempt and c.to_status = 'RUNNING'
 where h.job_id > %s and h.from_status = 'RUNNING' and h.actor <> c.actor and h.actor in (select w.name from holdfast.worker w)
"""


def ended_by_strangers(machine: Machine, facts: Facts) -> list[str]:
    """Tell of attempts that another worker than the one that made them has ended."""
    return [row["told"] for row in machine.rows(_STRANGERS, facts.since)]


def clear(machine: Machine, facts: Facts) -> None:
    """End what a scene has left and take it away, so that it is in nobody's way, and the next look at everything is short."""
    while machine.value(
        "select count(holdfast.cancel(j.id)) from (select id from holdfast.job where id > %s and finished_at is null order by id limit 1) as j",
        facts.since,
    ):
        pass
    machine.run("update holdfast.worker set died_at = holdfast.clock() where died_at is null")
    while machine.one("select * from holdfast.project()")["more"]:
        pass
    with machine.connection.transaction():
        machine.value("select set_config('holdfast.retention', pg_current_xact_id()::text, true)")
        machine.run(
            "select holdfast.remove_jobs(array(select id::uuid from holdfast.job where id > %s))", facts.since
        )
