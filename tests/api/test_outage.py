"""Lost connections and a database that is away, as enqueuing code sees them."""

import asyncio
import time

import psycopg
import pytest

from api.doors import job_ids
from holdfast import DatabaseUnavailable, Holdfast, Status
from holdfast.runtime import link
from holdfast.runtime.registry import AnyTask
from holdfast.store.call import query
from holdfast.store.connection import AsyncSession, Database
from holdfast.testing import ScratchDatabase


def mailing(app: Holdfast) -> AnyTask:
    @app.task()
    def mail(to: str) -> None: ...

    return mail


@pytest.fixture
def mail(app: Holdfast) -> AnyTask:
    return mailing(app)


def terminate_others(owner: psycopg.Connection) -> int:
    ended = owner.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
    ).fetchall()
    return len(ended)


def test_enqueue_works_after_its_idle_connections_were_ended(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection, holdfast_db: ScratchDatabase
) -> None:
    first = mail.enqueue("a")
    ended = terminate_others(owner)
    second = mail.enqueue("b")
    terminate_others(owner)
    third, fourth = app.enqueue_many([mail.job("c"), mail.job("d")])
    terminate_others(owner)

    assert ended >= 1
    assert fourth.status() is Status.PENDING
    assert job_ids(holdfast_db.owner_url) == [first.id, second.id, third.id, fourth.id]


async def test_aenqueue_works_after_its_idle_connections_were_ended(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection, holdfast_db: ScratchDatabase
) -> None:
    first = await mail.aenqueue("a")
    ended = terminate_others(owner)
    second = await mail.aenqueue("b")
    terminate_others(owner)

    assert ended >= 1
    assert await second.status() is Status.PENDING
    assert job_ids(holdfast_db.owner_url) == [first.id, second.id]
    await app.aclose()


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> AnyTask:
    """Give a task whose database does not answer, and little patience."""
    monkeypatch.setattr(link, "PATIENCE", (0.01, 0.01))
    return mailing(Holdfast("postgresql://shop:secret@127.0.0.1:1/orders"))


def test_a_database_that_is_away_is_named_after_some_patience(away: AnyTask) -> None:
    with pytest.raises(
        DatabaseUnavailable, match=r"cannot be reached: .*; asked 3 times at shop@127\.0\.0\.1:1/orders"
    ) as error:
        away.enqueue("a")

    assert "secret" not in str(error.value)


async def test_async_code_learns_the_same(away: AnyTask) -> None:
    with pytest.raises(DatabaseUnavailable, match="asked 3 times at"):
        await away.aenqueue("a")


def test_the_patience_is_seconds_not_minutes() -> None:
    assert 2 < sum(link.PATIENCE) < 10


def test_a_call_without_an_answer_ends_by_its_deadline(
    app: Holdfast, mail: AnyTask, owner: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "PATIENCE", ())
    mail.enqueue("a")
    with app.link._sync().session() as session:  # the only one: the next call gets it again
        session._deadline = 0.2
    before = time.monotonic()

    with owner.transaction():
        owner.execute("lock table holdfast.job in access exclusive mode")
        with pytest.raises(DatabaseUnavailable):
            mail.enqueue("b")

    assert time.monotonic() - before < 5


async def test_tasks_that_share_a_session_open_one_connection(
    holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    session = AsyncSession(Database(holdfast_db.url, "test"), "shared")

    await asyncio.gather(*(session.perform(query("ping", list)) for _ in range(5)))
    opened = owner.execute(
        "select count(*) from pg_stat_activity where application_name = 'shared'"
    ).fetchone()
    await session.close()

    assert opened == (1,)
