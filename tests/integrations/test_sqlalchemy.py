"""A row of SQLAlchemy's ORM and its job: one transaction, one savepoint, with both drivers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from api.doors import async_engine_on, engine_on, job_ids
from holdfast import Holdfast
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase


class Base(orm.DeclarativeBase):
    """The shop's tables."""


class Order(Base):
    """What somebody bought."""

    __tablename__ = "orders"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)


@pytest.fixture
def ship(app: Holdfast, holdfast_db: ScratchDatabase) -> AnyTask:
    with engine_on(holdfast_db.owner_url) as engine:
        Base.metadata.create_all(engine)

    @app.task()
    def ship(order_id: int) -> None: ...

    return ship


def stored(holdfast_db: ScratchDatabase) -> tuple[list[int], list[int]]:
    """Look which orders there are, and which are to be shipped."""
    with psycopg.connect(holdfast_db.owner_url) as connection:
        rows = connection.execute("select id from orders order by id").fetchall()
    return [row[0] for row in rows], [job.payload["order_id"] for job in holdfast_db.jobs()]


def test_a_row_and_its_job_commit_and_roll_back_together(ship: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with engine_on(holdfast_db.owner_url) as engine:
        with orm.Session(engine) as session, session.begin():
            order = Order()
            session.add(order)
            session.flush()
            ship.using(conn=session).enqueue(order.id)
            unseen = job_ids(holdfast_db.owner_url)
        with suppress(LookupError), orm.Session(engine) as session, session.begin():
            session.add(Order(id=99))
            ship.using(conn=session).enqueue(99)
            raise LookupError

    assert unseen == []
    assert stored(holdfast_db) == ([1], [1])


def test_a_savepoint_takes_its_job_with_it(ship: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with engine_on(holdfast_db.owner_url) as engine, orm.Session(engine) as session, session.begin():
        session.add(Order(id=1))
        ship.using(conn=session).enqueue(1)
        with suppress(LookupError), session.begin_nested():
            session.add(Order(id=2))
            ship.using(conn=session).enqueue(2)
            raise LookupError

    assert stored(holdfast_db) == ([1], [1])


@pytest.fixture(params=["psycopg", "asyncpg"])
async def engine(request: pytest.FixtureRequest, holdfast_db: ScratchDatabase) -> AsyncIterator[AsyncEngine]:
    async with async_engine_on(holdfast_db.owner_url, request.param) as engine:
        yield engine


async def test_so_does_an_async_session_with_either_driver(
    ship: AnyTask, holdfast_db: ScratchDatabase, engine: AsyncEngine
) -> None:
    async with AsyncSession(engine) as session, session.begin():
        session.add(Order(id=1))
        await ship.using(conn=session).aenqueue(1)
        with suppress(LookupError):
            async with session.begin_nested():
                session.add(Order(id=2))
                await ship.using(conn=session).aenqueue(2)
                raise LookupError
    with suppress(LookupError):
        async with AsyncSession(engine) as session, session.begin():
            session.add(Order(id=3))
            await ship.using(conn=session).aenqueue(3)
            raise LookupError

    assert stored(holdfast_db) == ([1], [1])


@pytest.fixture(autouse=True)
def closed(app: Holdfast) -> Iterator[None]:
    yield
    app.close()


def test_sqlalchemys_core_can_be_told_apart(ship: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with engine_on(holdfast_db.owner_url) as engine, engine.begin() as connection:
        connection.execute(sa.insert(Order).values(id=5))
        ship.using(conn=connection).enqueue(5)

    assert stored(holdfast_db) == ([5], [5])
