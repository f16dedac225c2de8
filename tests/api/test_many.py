"""enqueue_many: very many jobs in one call, all or none."""

import tracemalloc

import psycopg
import pytest

from holdfast import Holdfast, UnknownTask
from holdfast.domain.job import NewJob
from holdfast.runtime.registry import AnyTask
from holdfast.store.ids import new_id


@pytest.fixture
def mail(app: Holdfast) -> AnyTask:
    @app.task()
    def mail(to: int) -> None: ...

    return mail


def count(conn: psycopg.Connection) -> int:
    row = conn.execute("select count(*) from holdfast.job").fetchone()
    assert row is not None
    return int(row[0])


def test_20_000_jobs_go_in_with_one_call_and_little_memory(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection
) -> None:
    jobs = [mail.job(to) for to in range(20_000)]
    tracemalloc.start()
    try:
        handles = app.enqueue_many(jobs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count(owner) == 20_000
    assert [handle.id for handle in handles[::999]] == [job.id for job in jobs[::999]]
    assert peak < 30e6


def test_an_error_in_the_last_chunk_leaves_none(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection
) -> None:
    jobs = [*(mail.job(to) for to in range(5000)), NewJob(new_id(), "nobody", "{}", "")]

    with pytest.raises(UnknownTask, match="'nobody' is not registered"):
        app.enqueue_many(jobs)

    assert count(owner) == 0
    assert app.enqueue_many([mail.job(1)])[0].created


async def test_an_error_in_the_last_chunk_leaves_none_of_async_code_either(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection
) -> None:
    jobs = [*(mail.job(to) for to in range(2500)), NewJob(new_id(), "nobody", "{}", "")]

    with pytest.raises(UnknownTask):
        await app.aenqueue_many(jobs)
    handles = await app.aenqueue_many(jobs[:-1])
    await app.aclose()

    assert count(owner) == len(handles) == 2500


def test_jobs_may_come_from_a_generator(app: Holdfast, mail: AnyTask, owner: psycopg.Connection) -> None:
    handles = app.enqueue_many(mail.job(to) for to in range(3))

    assert count(owner) == len(handles) == 3


def test_no_jobs_are_no_work(app: Holdfast) -> None:
    assert app.enqueue_many([]) == []


def test_large_payloads_are_cut_by_size(app: Holdfast, owner: psycopg.Connection) -> None:
    @app.task()
    def store(text: str) -> None: ...

    handles = app.enqueue_many([store.job("x" * 250_000) for _ in range(40)])

    assert count(owner) == len(handles) == 40
