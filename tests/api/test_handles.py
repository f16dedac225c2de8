"""Handles: wait for a job, and get its result back as what it was."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import BaseModel

from holdfast import Fail, Holdfast, JobFailed, JobNotFound, Status, WaitTimedOut
from holdfast.testing import ScratchDatabase
from world.draining import adrain, drain


class Invoice(BaseModel):
    number: int
    total: Decimal


@dataclass
class Point:
    x: int
    y: int


@dataclass
class Journey:
    at: datetime
    by: UUID


def make_invoice() -> Invoice:
    return Invoice(number=7, total=Decimal("9.90"))


def make_point() -> Point:
    return Point(1, 2)


def make_journey() -> Journey:
    return Journey(datetime(2026, 7, 1, 12, tzinfo=UTC), UUID(int=7))


def make_price() -> Decimal:
    return Decimal("0.10")


def make_moment() -> datetime:
    return datetime(2026, 7, 1, 12, 30, tzinfo=UTC)


def make_nothing() -> None:
    return None


def make_set() -> set[int]:
    return {1, 2}


def make_pairs() -> list[tuple[int, Point]]:
    return [(1, Point(1, 2))]


def test_results_come_back_as_what_they_were(app: Holdfast) -> None:
    makers: list[Any] = [
        make_invoice,
        make_point,
        make_journey,
        make_price,
        make_moment,
        make_nothing,
        make_set,
        make_pairs,
    ]
    handles = [app.task()(maker).enqueue() for maker in makers]
    drain(app)

    assert [handle.result(timeout=5) for handle in handles] == [maker() for maker in makers]


async def test_async_handles_wait_and_give_typed_results(app: Holdfast) -> None:
    @app.task()
    async def double(point: Point) -> Point:
        return Point(point.x * 2, point.y * 2)

    handle = await double.aenqueue(Point(1, 2))
    await adrain(app)

    assert await handle.wait(timeout=5) is Status.COMPLETED
    assert await handle.result(timeout=5) == Point(2, 4)
    assert await app.ahandle(handle.id).result() == {"x": 2, "y": 4}
    await app.aclose()


def test_a_handle_by_id_gives_plain_json(app: Holdfast) -> None:
    @app.task()
    def locate() -> Point:
        return Point(1, 2)

    job_id = locate.enqueue().id
    drain(app)

    assert app.handle(str(job_id)).result() == {"x": 1, "y": 2}


@pytest.fixture
def never(app: Holdfast) -> Any:
    @app.task()
    def never() -> None: ...

    return never


@pytest.mark.parametrize("timeout", [0, 0.05])
def test_waiting_ends_when_the_callers_patience_does(never: Any, timeout: float) -> None:
    handle = never.enqueue()

    with pytest.raises(WaitTimedOut, match=f"job {handle.id} had not ended after {timeout} s; it goes on"):
        handle.wait(timeout=timeout)
    with pytest.raises(TimeoutError):
        handle.result(timeout=timeout)


def test_no_patience_at_all_still_looks_once(app: Holdfast, never: Any) -> None:
    handle = never.enqueue()
    drain(app)

    assert handle.wait(timeout=0) is Status.COMPLETED


async def test_async_waiting_ends_too(app: Holdfast, never: Any) -> None:
    handle = await never.aenqueue()

    with pytest.raises(WaitTimedOut):
        await handle.wait(timeout=0.02)
    with pytest.raises(WaitTimedOut):
        await handle.result(timeout=0)
    await app.aclose()


def test_a_failed_jobs_result_is_its_error(app: Holdfast) -> None:
    @app.task()
    def charge() -> None:
        raise Fail("the card is gone")

    handle = charge.enqueue()
    drain(app)

    with pytest.raises(JobFailed, match=r"is FAILED: .*the card is gone") as failed:
        handle.result()
    assert (failed.value.job_id, failed.value.status) == (handle.id, "FAILED")
    assert handle.wait() is Status.FAILED


async def test_a_cancelled_job_has_no_result(app: Holdfast, never: Any) -> None:
    handle = await never.aenqueue()
    assert await app.acancel(handle.id, actor="ops", reason="not needed") is Status.CANCELLED

    with pytest.raises(JobFailed, match="is CANCELLED") as failed:
        await handle.result()
    assert failed.value.status == "CANCELLED"
    await app.aclose()


def test_before_its_commit_a_job_is_not_found(never: Any, holdfast_db: ScratchDatabase) -> None:
    with psycopg.connect(holdfast_db.url) as conn:
        handle = never.using(conn=conn).enqueue()
        for ask in (handle.status, handle.wait, handle.result):
            with pytest.raises(JobNotFound, match="was its transaction committed"):
                ask()

    assert handle.status() is Status.PENDING


def test_a_handle_can_be_printed(app: Holdfast) -> None:
    job_id = uuid4()

    assert repr(app.handle(job_id)) == f"Handle({job_id})"
    assert repr(app.ahandle(job_id)) == f"AsyncHandle({job_id})"


async def test_a_failed_job_is_retried_by_hand_as_a_new_one(app: Holdfast) -> None:
    @app.task()
    async def broken() -> None:
        raise Fail("no")

    first = await broken.aenqueue()
    await adrain(app)
    second = await app.aretry(first.id, actor="ops", reason="fixed")

    assert second.created
    assert second.id != first.id
    assert await second.status() is Status.PENDING
    await app.aclose()
