"""Unique and dedupe keys: one job for each, whoever asks and however often."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.doors import job_ids
from holdfast import DuplicateKey, Fail, Holdfast, Status
from holdfast.domain.task import KeyScope
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase
from world.draining import drain


@pytest.fixture
def sync_up(app: Holdfast) -> AnyTask:
    @app.task()
    def sync_up(order: int, note: str = "") -> None:
        if note == "broken":
            raise Fail("no")

    return sync_up


def test_an_existing_job_is_returned_and_says_so(sync_up: AnyTask) -> None:
    first = sync_up.using(key="order-7").enqueue(7)
    second = sync_up.using(key="order-7").enqueue(8)

    assert (first.created, second.created) == (True, False)
    assert second.id == first.id


def test_raise_names_the_job_that_holds_the_key(sync_up: AnyTask) -> None:
    first = sync_up.using(key="order-7").enqueue(7)

    with pytest.raises(DuplicateKey, match="already holds the key 'order-7'") as refused:
        sync_up.using(key="order-7", on_conflict="raise").enqueue(7)

    assert refused.value.job_id == first.id


def test_replace_takes_the_place_of_one_that_has_not_started(
    sync_up: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    first = sync_up.using(key="order-7").enqueue(7)
    second = sync_up.using(key="order-7", on_conflict="replace").enqueue(8)

    assert second.created
    assert first.status() is Status.CANCELLED
    assert [job.payload for job in holdfast_db.jobs(status=Status.PENDING)] == [{"order": 8}]


def test_replace_leaves_a_running_one_alone(app: Holdfast, sync_up: AnyTask) -> None:
    first = sync_up.using(key="order-7").enqueue(7)
    app.claim()
    second = sync_up.using(key="order-7", on_conflict="replace").enqueue(8)

    assert (second.id, second.created) == (first.id, False)
    assert first.status() is Status.RUNNING


def test_keys_are_the_tenants_own(sync_up: AnyTask) -> None:
    acme = sync_up.using(key="k", tenant="acme").enqueue(1)
    umbrella = sync_up.using(key="k", tenant="umbrella").enqueue(1)
    nobody = sync_up.using(key="k").enqueue(1)

    assert len({acme.id, umbrella.id, nobody.id}) == 3


@pytest.mark.parametrize(
    ("scope", "after_success", "after_failure"),
    [("active", True, True), ("success", False, True), ("ever", False, False)],
)
def test_a_scope_says_how_long_an_ended_job_blocks(
    app: Holdfast, sync_up: AnyTask, scope: KeyScope, after_success: bool, after_failure: bool
) -> None:
    sync_up.using(key="good", key_scope=scope).enqueue(1)
    sync_up.using(key="bad", key_scope=scope).enqueue(1, "broken")
    drain(app)

    assert sync_up.using(key="good", key_scope=scope).enqueue(2).created is after_success
    assert sync_up.using(key="bad", key_scope=scope).enqueue(2).created is after_failure


def test_a_unique_task_has_one_job_for_each_payload_at_any_depth(app: Holdfast) -> None:
    @app.task(unique=True)
    def sync_all(what: dict[str, Any]) -> None: ...

    first = sync_all.enqueue({"a": 1, "b": {"c": 2, "d": 3}})
    same = sync_all.enqueue({"b": {"d": 3, "c": 2}, "a": 1})
    other = sync_all.enqueue({"b": {"d": 3, "c": 4}, "a": 1})

    assert (same.id, same.created) == (first.id, False)
    assert other.created


def test_a_task_unique_by_fields_looks_at_those_only(app: Holdfast) -> None:
    @app.task(unique=["order_id"], key_scope="ever")
    def charge(order_id: int, note: str) -> None: ...

    first = charge.enqueue(7, "first")
    drain(app)
    same = charge.enqueue(7, "again")
    other = charge.enqueue(8, "first")

    assert (same.id, same.created, other.created) == (first.id, False, True)


def test_64_threads_with_one_key_make_one_job(
    app: Holdfast, sync_up: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    together = threading.Barrier(64)

    def enqueue(n: int) -> tuple[Any, bool]:
        together.wait()
        handle = sync_up.using(key="order-7").enqueue(n)
        return handle.id, handle.created

    with ThreadPoolExecutor(64) as threads:
        made = list(threads.map(enqueue, range(64)))

    assert sorted(created for _, created in made) == [False] * 63 + [True]
    assert {job_id for job_id, _ in made} == set(job_ids(holdfast_db.owner_url))
    assert len(job_ids(holdfast_db.owner_url)) == 1


def test_duplicates_inside_one_call_become_one_job(
    app: Holdfast, sync_up: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    keyed = sync_up.using(key="order-7")

    handles = app.enqueue_many([keyed.job(1), sync_up.job(2), keyed.job(3)])

    assert [handle.created for handle in handles] == [True, True, False]
    assert handles[0].id == handles[2].id
    assert len(job_ids(holdfast_db.owner_url)) == 2


def test_a_duplicate_that_raises_leaves_none_of_its_batch(
    app: Holdfast, sync_up: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    first = sync_up.using(key="order-7").enqueue(7)

    with pytest.raises(DuplicateKey):
        app.enqueue_many([sync_up.job(1), sync_up.using(key="order-7", on_conflict="raise").job(2)])

    assert job_ids(holdfast_db.owner_url) == [first.id]


def test_the_same_job_enqueued_again_is_itself(
    app: Holdfast, sync_up: AnyTask, holdfast_db: ScratchDatabase
) -> None:
    job = sync_up.job(1)

    (first,) = app.enqueue_many([job])
    (again,) = app.enqueue_many([job])

    assert again.id == first.id == job.id
    assert job_ids(holdfast_db.owner_url) == [job.id]
