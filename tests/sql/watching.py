"""What the tests of alerts say often: an app that watches, failures that were counted, and what was found and told."""

from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from sql.support import Machine, Row

CHANNELS = [{"name": "mail", "kind": "email"}, {"name": "hook", "kind": "webhook"}]


def rule(name: str = "r", kind: str = "failures", **settings: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "severity": "warning", "channels": ["mail"], **settings}


def watch(
    machine: Machine, *rules: dict[str, Any], app: str = "shop:app", channels: Any = CHANNELS
) -> list[str]:
    """Register as a worker does; answers the names that were another app's."""
    machine.register(*(f"holdfast.notify.{each['name']}" for each in channels), queue="holdfast")
    taken = machine.rows(
        "select * from holdfast.register_alerts(%s, %s, %s)", app, Jsonb(channels), Jsonb(list(rules))
    )
    return sorted(row["taken"] for row in taken)


def judge(machine: Machine) -> tuple[int, int]:
    """Look at the rules now, whoever looked a moment ago."""
    found = machine.one("select * from holdfast.judge_rules()")
    return found["opened"], found["closed"]


def count_failures(
    machine: Machine, task: str, failed: int, completed: int = 0, queue: str = "default"
) -> None:
    """Count ends as the projector does, in this minute."""
    machine.run(
        """
        insert into holdfast.statistic as s (minute, queue, task, enqueued, started, completed, failed, cancelled, retried, suspended, waits, waited, runs, ran)
        values (date_bin('1 minute', holdfast.clock(), '2000-01-01'), %s, %s, 0, 0, %s, %s, 0, 0, 0, 0, '0', 0, '0')
        on conflict (minute, queue, task) do update set failed = s.failed + excluded.failed, completed = s.completed + excluded.completed
        """,
        queue, task, completed, failed,
    )  # fmt: skip


def alerts(machine: Machine) -> list[Row]:
    return machine.rows("select * from holdfast.alert order by rule, about, opened_at")


def open_alerts(machine: Machine) -> list[str]:
    return [row["about"] for row in alerts(machine) if row["closed_at"] is None]


def told(machine: Machine) -> list[tuple[str, str]]:
    """Say what is in the outbox, oldest first."""
    rows = machine.rows("select kind, channel from holdfast.notification order by created_at, id")
    return [(row["kind"], row["channel"]) for row in rows]


def delivering_jobs(machine: Machine) -> int:
    number: int = machine.value("select count(*) from holdfast.job where queue = 'holdfast'")
    return number


def fail(machine: Machine, job_id: UUID) -> None:
    """Let a job end FAILED, by plain UPDATEs."""
    machine.run("update holdfast.job set status = 'RUNNING', holder = %s, claim_id = %s, claim_order = null where id = %s", uuid4(), uuid4(), job_id)  # fmt: skip
    machine.run("update holdfast.job set status = 'FAILED', holder = null, error = '{\"type\": \"Boom\"}' where id = %s", job_id)  # fmt: skip
