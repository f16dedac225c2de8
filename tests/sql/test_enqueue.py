"""Enqueue by plain SQL: every option, every refusal, and nothing half done."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine, machine_on

GOOD = {"task": "t", "payload": {}}


def new_ids(machine: Machine, number: int) -> list[UUID]:
    return [
        row["id"]
        for row in machine.rows("select holdfast.new_id() as id from generate_series(1, %s)", number)
    ]


# -- options ---------------------------------------------------------------------------------------------------------------


def test_every_option_arrives_in_the_row(each_machine: Machine) -> None:
    each_machine.register("t")
    (job_id,) = new_ids(each_machine, 1)

    answer = each_machine.enqueue(
        payload={"a": [1, None, {"b": "é"}]}, queue="mail", priority=-7, key="k", key_scope="ever", on_conflict="raise", tenant="acme",
        subject="booking:42", tags=Jsonb(["x", "y"]), label="A title", metadata=Jsonb({"m": None}), requested_by="ann", id=job_id,
    )  # fmt: skip

    assert answer == job_id
    job = each_machine.job(job_id)
    given = {
        "payload": {"a": [1, None, {"b": "é"}]}, "queue": "mail", "priority": -7, "key": "k", "key_scope": "ever", "key_held": True,
        "tenant": "acme", "subject": "booking:42", "tags": ["x", "y"], "label": "A title", "metadata": {"m": None}, "requested_by": "ann",
        "status": "PENDING", "attempt": 0, "due_at": None,
    }  # fmt: skip
    assert {name: job[name] for name in given} == given


def test_jobs_without_keys_take_no_savepoints_that_they_do_not_need(machine: Machine) -> None:
    machine.enqueue()
    machine.enqueue_many([GOOD] * 3)

    written_by = machine.rows("select distinct xmin::text as xid from holdfast.job")

    assert written_by == [
        {"xid": machine.value("select (pg_current_xact_id()::text::bigint % (1::bigint << 32))::text")}
    ]


def test_what_only_a_batch_can_say_arrives_too(machine: Machine) -> None:
    (answer,) = machine.enqueue_many(
        [{**GOOD, "trace_parent": "00-1-2-01", "max_retries": 9, "timeout": 1.5, "run_in": 60}]
    )

    job = machine.job(answer["job_id"])
    assert (job["trace_parent"], job["max_retries"], job["timeout"]) == (
        "00-1-2-01",
        9,
        timedelta(seconds=1.5),
    )
    assert job["due_at"] == job["created_at"] + timedelta(seconds=60)


def test_what_is_not_said_comes_from_the_task(machine: Machine) -> None:
    machine.register("special", queue="mail", priority=3, max_retries=7, timeout=12)

    job = machine.job(machine.enqueue("special"))

    assert (job["queue"], job["priority"], job["max_retries"], job["timeout"]) == (
        "mail",
        3,
        7,
        timedelta(seconds=12),
    )


def test_the_payload_may_be_left_out_of_a_single_enqueue(machine: Machine) -> None:
    job_id = machine.value("select holdfast.enqueue('t')")

    assert machine.job(job_id)["payload"] == {}


@pytest.mark.parametrize("when", [{"run_in": "1 day"}, {"run_at": "2100-01-01T00:00:00+00:00"}])
def test_a_job_for_later_is_not_in_the_line(machine: Machine, when: dict[str, Any]) -> None:
    job = machine.job(machine.enqueue(**when))

    assert (job["claim_order"], job["status"]) == (None, "PENDING")
    assert job["due_at"] is not None


@pytest.mark.parametrize(
    "when", [{"run_at": "2001-01-01T00:00:00+00:00"}, {"run_in": "-1 day"}, {"run_in": "0"}]
)
def test_a_job_for_the_past_is_in_the_line_at_once(machine: Machine, when: dict[str, Any]) -> None:
    job = machine.job(machine.enqueue(**when))

    assert (job["claim_order"], job["due_at"]) == (job["created_at"], None)


@pytest.mark.parametrize("priority", [-100, -1, 0, 1, 100])
def test_a_hundred_points_of_priority_are_an_hours_head_start(machine: Machine, priority: int) -> None:
    job = machine.job(machine.enqueue(priority=priority))

    assert job["created_at"] - job["claim_order"] == timedelta(hours=1) * priority / 100


# -- refusals --------------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no task": ({"task": None}, "HF005", "names no task"),
    "unknown task": ({"task": "never heard of"}, "HF004", "'never heard of' is not registered"),
    "empty task": ({"task": ""}, "HF004", "'' is not registered"),
    "array payload": ({"payload": []}, "HF005", "must be a JSON object, not array"),
    "string payload": ({"payload": "x"}, "HF005", "must be a JSON object, not string"),
    "number payload": ({"payload": 1}, "HF005", "must be a JSON object, not number"),
    "null payload": ({"payload": None}, "HF005", "must be a JSON object"),
    "large payload": ({"payload": {"a": "x" * 262_140}}, "HF005", "256 KiB"),
    "large payload of escapes": ({"payload": {"a": "\x01" * 43_700}}, "HF005", "256 KiB"),
    "priority too high": ({"priority": 101}, "HF005", "priority 101 is outside"),
    "priority too low": ({"priority": -101}, "HF005", "priority -101 is outside"),
    "retries too many": ({"max_retries": 101}, "HF005", "max_retries 101 is outside"),
    "retries too few": ({"max_retries": -1}, "HF005", "max_retries -1 is outside"),
    "two times": ({"run_at": "2030-01-01T00:00:00Z", "run_in": 1}, "HF005", "run_at or run_in, not both"),
    "no timeout": ({"timeout": 0}, "HF005", "more than 0 seconds"),
    "negative timeout": ({"timeout": -1}, "HF005", "more than 0 seconds"),
    "empty queue": ({"queue": ""}, "HF005", "must not be empty"),
    "empty tenant": ({"tenant": ""}, "HF005", "must not be empty"),
    "empty subject": ({"subject": ""}, "HF005", "must not be empty"),
    "empty key": ({"key": ""}, "HF005", "must not be empty"),
    "long queue": ({"queue": "x" * 201}, "HF005", "200 characters"),
    "long tenant": ({"tenant": "x" * 201}, "HF005", "200 characters"),
    "long subject": ({"subject": "x" * 501}, "HF005", "500"),
    "long key": ({"key": "x" * 501}, "HF005", "500"),
    "long label": ({"label": "x" * 501}, "HF005", "500"),
    "tags as an object": ({"tags": {}}, "HF005", "list of strings"),
    "tags as a string": ({"tags": "x"}, "HF005", "list of strings"),
    "tags of numbers": ({"tags": ["x", 1]}, "HF005", "list of strings"),
    "tags of lists": ({"tags": [["x"]]}, "HF005", "list of strings"),
    "metadata as a list": ({"metadata": []}, "HF005", "metadata must be a JSON object"),
    "unknown scope": ({"key": "k", "key_scope": "sometimes"}, "HF005", "'sometimes' is not one of"),
    "unknown policy": ({"on_conflict": "explode"}, "HF005", "'explode' is not one of"),
}


@pytest.mark.parametrize("problem", BAD)
@pytest.mark.parametrize("place", [1, 3, 8])
def test_a_bad_job_is_refused_with_its_place_and_all_others_with_it(
    machine: Machine, problem: str, place: int
) -> None:
    # Three jobs and eight: few jobs and many take different ways through enqueue_many.
    change, sqlstate, words = BAD[problem]
    jobs = [dict(GOOD) for _ in range(max(3, place))]
    jobs[place - 1] = {**GOOD, **change}
    before = machine.count(), machine.count("holdfast.job_history")

    with machine.refused(sqlstate, f"job {place}:", words):
        machine.enqueue_many(jobs)

    assert (machine.count(), machine.count("holdfast.job_history")) == before


def test_a_job_without_a_payload_is_refused(machine: Machine) -> None:
    with machine.refused("HF005", "job 1:", "must be a JSON object"):
        machine.enqueue_many([{"task": "t"}])


@pytest.mark.parametrize("document", ["{}", "null", '"x"', "1"])
def test_a_batch_that_is_no_array_is_refused(machine: Machine, document: str) -> None:
    with machine.refused("HF005", "takes an array of jobs"):
        machine.rows("select * from holdfast.enqueue_many(%s::jsonb)", document)


@pytest.mark.parametrize("document", ["[1]", '[[{"task": "t"}]]', "[null]"])
def test_a_batch_of_anything_but_objects_is_refused(machine: Machine, document: str) -> None:
    with pytest.raises(psycopg.DataError), machine.connection.transaction():
        machine.rows("select * from holdfast.enqueue_many(%s::jsonb)", document)

    assert machine.count() == 0


@pytest.mark.parametrize(
    "text", ['{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": NaN}', '{"a": Infinity}', "{'a': 1}"]
)
def test_text_that_is_no_storable_json_is_refused(machine: Machine, text: str) -> None:
    with pytest.raises(psycopg.DataError), machine.connection.transaction():
        machine.value("select holdfast.enqueue('t', %s::jsonb)", text)

    assert machine.count() == 0


def test_a_payload_of_exactly_256_kib_is_taken(machine: Machine) -> None:
    job_id = machine.value("select holdfast.enqueue('t', jsonb_build_object('a', repeat('x', 262144 - 9)))")

    assert (
        machine.value("select octet_length(payload::text) from holdfast.job where id = %s", job_id) == 262_144
    )


def test_a_payload_of_short_but_huge_numbers_is_refused(machine: Machine) -> None:
    # 1e131000 takes a dozen bytes in a row and 131,001 when it is read.
    with machine.refused("HF005", "job 1:", "256 KiB"):
        machine.rows(
            'select * from holdfast.enqueue_many(\'[{"task": "t", "payload": {"a": [1e131000, 1e131000, 1e131000]}}]\')'
        )


def test_an_empty_batch_is_no_error(machine: Machine) -> None:
    assert machine.enqueue_many([]) == []


def test_an_id_that_is_no_version_7_is_refused(machine: Machine) -> None:
    with machine.refused("23514", '"id_is_a_uuid_version_7"'):
        machine.enqueue(id=uuid4())


# -- many ------------------------------------------------------------------------------------------------------------------


def test_ten_thousand_jobs_are_answered_in_their_order(machine: Machine) -> None:
    jobs = [{"task": "t", "payload": {"n": n}} for n in range(10_000)]

    answers = machine.enqueue_many(jobs)

    assert [answer["nth"] for answer in answers] == list(range(1, 10_001))
    payloads = {
        row["id"]: row["n"]
        for row in machine.rows("select id, (payload ->> 'n')::int as n from holdfast.job")
    }
    assert [payloads[answer["job_id"]] for answer in answers] == list(range(10_000))
    assert all(answer["created"] for answer in answers)
    assert machine.count("holdfast.job_history") == 10_000


def test_many_jobs_with_keys_and_ids_are_answered_in_their_order(machine: Machine) -> None:
    ids = new_ids(machine, 500)
    jobs = [
        {"task": "t", "payload": {}, "id": str(job_id), "key": f"k{n % 400}"} for n, job_id in enumerate(ids)
    ]

    answers = machine.enqueue_many(jobs)

    assert [answer["job_id"] for answer in answers] == ids[:400] + ids[:100]
    assert [answer["created"] for answer in answers] == [True] * 400 + [False] * 100


def test_jobs_of_one_call_enter_the_line_in_their_order(machine: Machine) -> None:
    worker = machine.worker()
    ids = [answer["job_id"] for answer in machine.enqueue_many([dict(GOOD) for _ in range(20)])]

    claimed = machine.claim(worker, 20)

    assert sorted(row["id"] for row in claimed) == sorted(ids)
    in_line = [machine.enqueue() for _ in range(3)]
    assert [machine.claim(worker, 1)[0]["id"] for _ in range(3)] == in_line


# -- repeats after a lost answer -------------------------------------------------------------------------------------------


def test_the_same_id_again_is_the_same_job(lasting: Machine) -> None:
    (job_id,) = new_ids(lasting, 1)
    job = {"task": "t", "payload": {"a": 1}, "id": str(job_id)}
    (first,) = lasting.enqueue_many([job])

    (second,) = lasting.enqueue_many([job])

    assert (first["created"], second["created"]) == (True, False)
    assert first["job_id"] == second["job_id"] == job_id
    assert lasting.path(job_id) == [Status.PENDING]


def test_a_repeated_batch_makes_nothing_twice(lasting: Machine) -> None:
    jobs = [
        {"task": "t", "payload": {"n": n}, "id": str(job_id)} for n, job_id in enumerate(new_ids(lasting, 50))
    ]
    first = lasting.enqueue_many(jobs)

    second = lasting.enqueue_many(jobs)

    assert [row["job_id"] for row in second] == [row["job_id"] for row in first]
    assert not any(row["created"] for row in second)
    assert lasting.count() == 50


def test_the_same_id_again_is_the_same_job_even_when_it_has_ended(lasting: Machine) -> None:
    job_id = lasting.job_in(Status.COMPLETED)

    assert lasting.enqueue(id=job_id) == job_id


@pytest.mark.parametrize("other", [{"payload": {"a": 2}}, {"task": "u"}, {"tenant": "acme"}])
def test_the_same_id_with_another_content_is_refused(lasting: Machine, other: dict[str, Any]) -> None:
    lasting.register("u")
    job_id = lasting.enqueue(payload={"a": 1})

    with lasting.refused("HF007", f"job id {job_id} is taken"):
        lasting.enqueue_many([{"task": "t", "payload": {"a": 1}, "id": str(job_id), **other}])


@pytest.mark.parametrize("others", [0, 10])
def test_the_same_id_twice_in_one_batch_is_one_job(machine: Machine, others: int) -> None:
    (job_id,) = new_ids(machine, 1)
    twice = [{**GOOD, "id": str(job_id)}] * 2

    answers = machine.enqueue_many([*twice, *[dict(GOOD) for _ in range(others)]])

    assert {answer["job_id"] for answer in answers[:2]} == {job_id}
    assert machine.count() == 1 + others


@pytest.mark.parametrize("others", [0, 10])
def test_the_same_id_twice_in_one_batch_with_other_content_is_refused(machine: Machine, others: int) -> None:
    (job_id,) = new_ids(machine, 1)
    twice = [{**GOOD, "id": str(job_id)}, {"task": "t", "payload": {"a": 2}, "id": str(job_id)}]

    with machine.refused("HF007", f"job id {job_id} is taken"):
        machine.enqueue_many([*twice, *[dict(GOOD) for _ in range(others)]])


@contextmanager
def waiting(machine: Machine, database: ScratchDatabase) -> Iterator[None]:
    """Leave the block only when somebody waits for this machine's transaction."""
    yield
    pid = machine.connection.info.backend_pid
    with machine_on(database.owner_url) as observer:
        while not observer.value(
            "select count(*) from pg_stat_activity where %s = any (pg_blocking_pids(pid))", pid
        ):
            pass


@pytest.mark.parametrize("number", [1, 50])
def test_a_repeat_while_the_first_is_still_committing_makes_one_job(
    lasting: Machine, holdfast_db: ScratchDatabase, number: int
) -> None:
    jobs = [{**GOOD, "id": str(job_id)} for job_id in new_ids(lasting, number)]

    def repeat() -> list[dict[str, Any]]:
        with machine_on(holdfast_db.url) as other:
            return other.enqueue_many(jobs)

    with ThreadPoolExecutor(1) as threads:
        with lasting.connection.transaction(), waiting(lasting, holdfast_db):
            lasting.enqueue_many(jobs)
            repeated = threads.submit(repeat)
        answers = repeated.result()

    assert not any(answer["created"] for answer in answers)
    assert lasting.count() == number


# -- tasks -----------------------------------------------------------------------------------------------------------------


def test_a_declared_task_is_registered_when_it_is_missing(app_login: Machine, lasting: Machine) -> None:
    app_login.enqueue_many(
        [{"task": "new", "payload": {}}], [{"name": "new", "queue": "mail", "max_retries": 1}]
    )

    task = lasting.one("select * from holdfast.task where name = 'new'")
    assert (task["queue"], task["max_retries"]) == ("mail", 1)
    assert lasting.value("select count(*) from holdfast.queue where name = 'mail'") == 1


def test_a_declaration_does_not_change_a_task_that_is_there(app_login: Machine, lasting: Machine) -> None:
    lasting.register("t", max_retries=7)

    app_login.enqueue_many([dict(GOOD)], [{"name": "t", "max_retries": 1}])

    assert lasting.value("select max_retries from holdfast.task where name = 't'") == 7


def test_registering_again_changes_what_is_different(lasting: Machine) -> None:
    lasting.register("t", max_retries=7, retention=60)
    lasting.register("t", max_retries=8)

    task = lasting.one("select * from holdfast.task where name = 't'")
    assert (task["max_retries"], task["retention"]) == (8, None)


def test_producers_that_declare_the_same_new_tasks_at_once_do_not_deadlock(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    names = [f"task-{n}" for n in range(30)]

    def produce(turn: int) -> int:
        mine = names if turn % 2 else names[::-1]
        with machine_on(holdfast_db.url) as producer:
            return len(
                producer.enqueue_many(
                    [{"task": name, "payload": {}} for name in mine], [{"name": name} for name in mine]
                )
            )

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(produce, range(8))) == [30] * 8

    assert lasting.count() == 240


# -- transactions and waking ---------------------------------------------------------------------------------------------------


def test_a_rolled_back_enqueue_leaves_nothing(app_login: Machine, lasting: Machine) -> None:
    with app_login.connection.transaction(force_rollback=True):
        app_login.enqueue()

    assert (lasting.count(), lasting.count("holdfast.job_history")) == (0, 0)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_enqueue_works_in_every_isolation_level(app_login: Machine, lasting: Machine, level: str) -> None:
    with app_login.connection.transaction():
        app_login.run(f"set transaction isolation level {level}")
        app_login.value("select 1")
        job_id = app_login.enqueue(key="k")
        again = app_login.enqueue(key="k")

    assert job_id == again
    assert lasting.path(job_id) == [Status.PENDING]


def test_a_key_taken_behind_an_old_snapshot_is_a_serialization_failure_not_a_second_job(
    app_login: Machine, lasting: Machine
) -> None:
    with app_login.refused("40001"):
        app_login.run("set transaction isolation level repeatable read")
        app_login.value("select count(*) from holdfast.task")
        lasting.enqueue(key="k")
        app_login.enqueue(key="k")

    assert lasting.count() == 1


def heard(listener: Machine) -> list[str]:
    return [note.payload for note in listener.connection.notifies(timeout=0.2)]


def test_enqueue_wakes_a_sleeper_of_its_queue_once_a_transaction(
    app_login: Machine, lasting: Machine
) -> None:
    worker = app_login.worker()
    app_login.value("select holdfast.fall_asleep(%s, '{default}')", worker)
    lasting.run("listen holdfast_wake")

    with app_login.connection.transaction():
        for _ in range(3):
            app_login.enqueue()

    assert heard(lasting) == ["default"]


@pytest.mark.parametrize(
    "why",
    ["nobody sleeps", "another queue's sleeper", "awake again", "for later", "quiet"],
)
def test_enqueue_calls_nobody_for_nothing(app_login: Machine, lasting: Machine, why: str) -> None:
    worker = app_login.worker()
    if why != "nobody sleeps":
        app_login.value(
            "select holdfast.fall_asleep(%s, %s)",
            worker,
            ["mail" if why == "another queue's sleeper" else "default"],
        )
    if why == "awake again":
        app_login.value("select holdfast.stay_awake(%s, '{default}')", worker)
    if why == "quiet":
        app_login.run("set holdfast.quiet = on")
    lasting.run("listen holdfast_wake")

    later: dict[str, Any] = {"run_in": "1 hour"} if why == "for later" else {}
    app_login.enqueue(**later)

    assert heard(lasting) == []
