"""The feed: which events there are, what they say and what they never say; publishing, reading, forgetting."""

import json

import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on
from sql.test_project import feed, kinds, project_all

SECRET = "hunter2-s3cr3t"
MAIL = "ana@example.com"


def all_said(machine: Machine) -> str:
    return json.dumps(machine.rows("select to_jsonb(f) as event from holdfast.feed f"), default=str)


def test_every_move_is_an_event_on_the_jobs_subject(lasting: Machine) -> None:
    job_id = lasting.enqueue(subject="order-7")
    for status in (
        Status.RUNNING,
        Status.RETRY,
        Status.RUNNING,
        Status.WAITING,
        Status.RUNNING,
        Status.COMPLETED,
    ):
        lasting.move(job_id, status)
    other = lasting.enqueue(subject="order-7")
    lasting.move(other, Status.CANCELLED)

    project_all(lasting)

    told = feed(lasting, "subject:order-7")
    assert [row["id"] for row in told] == list(range(1, 10))
    assert [row["kind"] for row in told] == [
        "job.enqueued", "job.started", "job.retrying", "job.started", "job.waiting", "job.started", "job.completed",
        "job.enqueued", "job.cancelled",
    ]  # fmt: skip
    assert told[6]["job_id"] == job_id
    assert told[6]["data"] == {"task": "t", "status": "COMPLETED", "from": "RUNNING", "attempt": 3, "seq": 7}


def test_a_job_without_subject_or_listened_tenant_makes_no_event(lasting: Machine) -> None:
    lasting.job_in(Status.COMPLETED, tenant="acme")
    lasting.job_in(Status.COMPLETED)

    project_all(lasting)

    assert lasting.count("holdfast.feed") == 0
    assert lasting.count("holdfast.channel") == 0


def test_a_tenants_events_are_kept_from_the_first_reader_on(lasting: Machine) -> None:
    lasting.enqueue(tenant="acme")
    project_all(lasting)
    lasting.value("select holdfast.open_channel('tenant:acme')")
    lasting.job_in(Status.COMPLETED, tenant="acme", subject="s")
    lasting.enqueue(tenant="zen")

    project_all(lasting)

    assert kinds(lasting, "tenant:acme") == ["job.enqueued", "job.started", "job.completed"]
    assert kinds(lasting, "subject:s") == ["job.enqueued", "job.started", "job.completed"]
    assert feed(lasting, "tenant:zen") == []


def test_what_happens_without_a_move_is_an_event_in_its_place(lasting: Machine) -> None:
    job_id = lasting.job_in(Status.RUNNING, subject="s")
    lasting.value("select holdfast.note(%s, 'progress', 'w', %s)", job_id, Jsonb({"done": 1, "total": 2}))
    lasting.move(job_id, Status.COMPLETED)

    project_all(lasting)

    assert kinds(lasting, "subject:s") == ["job.enqueued", "job.started", "progress", "job.completed"]
    assert feed(lasting, "subject:s")[2]["data"] == {"task": "t", "done": 1, "total": 2}


def test_no_payload_address_or_error_text_reaches_the_feed(lasting: Machine) -> None:
    lasting.value("select holdfast.open_channel('tenant:acme')")
    lasting.connection.execute("select set_config('holdfast.actor', %s, false)", (MAIL,))
    worker = lasting.worker(name=MAIL)
    lasting.enqueue(
        payload={"card": SECRET, "mail": MAIL}, tenant="acme", subject="s", label=SECRET, requested_by=MAIL,
        metadata=Jsonb({"card": SECRET}),
    )  # fmt: skip
    error = {"type": f"Boom {SECRET}", "message": f"{MAIL} {SECRET}", "traceback": SECRET}
    lasting.settle(worker, *lasting.claim(worker), outcome="failed", error=error, reason=SECRET, delay=0)
    lasting.settle(
        worker, *lasting.claim(worker), outcome="failed", recoverable=False, error={**error, "type": "x.Boom"}, reason=SECRET
    )  # fmt: skip

    project_all(lasting)

    said = all_said(lasting)
    assert len(feed(lasting, "tenant:acme")) == 5
    assert SECRET not in said
    assert MAIL not in said
    assert feed(lasting, "subject:s")[-1]["data"]["error"] == "x.Boom"
    assert "error" not in feed(lasting, "subject:s")[2]["data"]


def test_a_task_shows_the_fields_that_it_lists_and_no_others(lasting: Machine) -> None:
    lasting.register("t", options={"feed_fields": ["match_id", "absent"]})
    lasting.enqueue(payload={"match_id": 7, "card": SECRET}, subject="s")

    project_all(lasting)

    [event] = feed(lasting, "subject:s")
    assert event["data"]["fields"] == {"match_id": 7}
    assert SECRET not in all_said(lasting)


# -- published -------------------------------------------------------------------------------------------------------------


def publish(machine: Machine, channel: str, kind: str, **data: object) -> None:
    machine.value("select holdfast.publish(%s, %s, %s)", channel, kind, Jsonb(data))


def test_a_published_event_gets_its_id_when_its_transaction_has_committed(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    with machine_on(holdfast_db.owner_url) as slow:
        slow.connection.autocommit = False
        publish(slow, "chat:1", "first.begun")
        publish(lasting, "chat:1", "second.begun", n=1)
        project_all(lasting)
        slow.connection.commit()
    project_all(lasting)

    assert [(row["id"], row["kind"]) for row in feed(lasting, "chat:1")] == [
        (1, "second.begun"),
        (2, "first.begun"),
    ]
    assert lasting.count("holdfast.published") == 0


def test_channels_count_apart(lasting: Machine) -> None:
    for channel in ("chat:1", "chat:2", "chat:1"):
        publish(lasting, channel, "said")

    project_all(lasting)

    assert [row["id"] for row in feed(lasting, "chat:1")] == [1, 2]
    assert [row["id"] for row in feed(lasting, "chat:2")] == [1]


@pytest.mark.parametrize("data", ["[]", "null", json.dumps({"x": "y" * 65_536})])
def test_an_event_that_is_no_object_or_too_large_is_refused(machine: Machine, data: str) -> None:
    with machine.refused("HF005", "event"):
        machine.value("select holdfast.publish('c', 'k', %s::jsonb)", data)


@pytest.mark.parametrize(("after", "ids"), [(0, [1, 2, 3]), (2, [3]), (3, []), (99, [])])
def test_readers_resume_from_any_id(lasting: Machine, after: int, ids: list[int]) -> None:
    lasting.job_in(Status.COMPLETED, subject="s")
    project_all(lasting)

    assert [row["id"] for row in feed(lasting, "subject:s", after)] == ids


def test_a_listener_is_told_once_a_pass(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.value("select holdfast.open_channel('subject:s')")
    with machine_on(holdfast_db.owner_url) as listening:
        listening.run("listen holdfast_feed")
        lasting.job_in(Status.COMPLETED, subject="s")
        lasting.job_in(Status.COMPLETED, subject="nobody-listens")
        project_all(lasting)

        heard = [notice.payload for notice in listening.connection.notifies(timeout=2, stop_after=1)]
        heard += [notice.payload for notice in listening.connection.notifies(timeout=0)]

    assert heard == ["subject:s"]


# -- kept and forgotten ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    ["update holdfast.feed set kind = 'x'", "delete from holdfast.feed", "truncate holdfast.feed"],
)
def test_the_feed_is_append_only(lasting: Machine, statement: str) -> None:
    lasting.enqueue(subject="s")
    project_all(lasting)
    lasting.run("set session_replication_role = replica")

    with lasting.refused("HF003", "append-only"):
        lasting.run(statement)


def forget(machine: Machine) -> Row:
    return machine.one("select * from holdfast.upkeep()")


def test_events_are_kept_for_thirty_days_and_their_ids_never_come_again(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    for _ in range(3):
        lasting.job_in(Status.COMPLETED, subject="s")
    project_all(lasting)
    holdfast_db.clock.advance(29 * 86400)
    forget(lasting)
    assert len(feed(lasting, "subject:s")) == 9
    holdfast_db.clock.advance(2 * 86400)
    forget(lasting)
    assert lasting.count("holdfast.feed") == 0
    assert lasting.count("holdfast.channel") == 0

    lasting.enqueue(subject="s")
    project_all(lasting)

    assert [row["id"] for row in feed(lasting, "subject:s", 9)] == [10]


@pytest.mark.parametrize("kept", ["178000000 years", "-178000000 years", "-1 day"])
def test_what_is_kept_for_a_time_that_makes_no_sense_is_kept(lasting: Machine, kept: str) -> None:
    lasting.job_in(Status.COMPLETED, subject="s")
    project_all(lasting)
    lasting.run("update holdfast.projection set feed_kept = %s, statistics_kept = %s", kept, kept)

    forget(lasting)

    assert len(feed(lasting, "subject:s")) == 3
    assert lasting.count("holdfast.statistic") == 1


def test_a_channel_that_somebody_reads_is_not_forgotten(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    publish(lasting, "chat:1", "said")
    project_all(lasting)
    holdfast_db.clock.advance(31 * 86400)
    lasting.value("select holdfast.open_channel('chat:1')")
    forget(lasting)

    assert lasting.value("select last_id from holdfast.channel") == 1


def test_minutes_are_kept_for_ninety_days_and_usage_for_ever(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.job_in(Status.COMPLETED)
    project_all(lasting)
    holdfast_db.clock.advance(91 * 86400)

    forget(lasting)

    assert lasting.count("holdfast.statistic") + lasting.count("holdfast.timing") == 0
    assert lasting.count("holdfast.usage") == 1
