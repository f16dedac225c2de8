"""conn= with connections of every shape, and with what is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import rows
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool
from sqlalchemy import orm

from api.doors import django_on, engine_on, job_ids
from holdfast import BadInput, Holdfast, NotAllowed, SchemaMismatch, Status
from holdfast.runtime.registry import AnyTask
from holdfast.testing import ScratchDatabase, TestServer


@dataclass
class Account:
    name: str


@pytest.fixture
def charge(app: Holdfast) -> AnyTask:
    @app.task()
    def charge(order: int) -> None: ...

    return charge


def with_ids_as_text(url: str) -> psycopg.Connection[Any]:
    conn = psycopg.connect(url)
    conn.adapters.register_loader("uuid", TextLoader)
    return conn


@pytest.mark.parametrize(
    "connect",
    [
        pytest.param(lambda url: psycopg.connect(url, row_factory=rows.dict_row), id="dict_row"),
        pytest.param(lambda url: psycopg.connect(url, row_factory=rows.class_row(Account)), id="class_row"),
        pytest.param(lambda url: psycopg.connect(url, row_factory=rows.scalar_row), id="scalar_row"),
        pytest.param(lambda url: psycopg.connect(url, cursor_factory=psycopg.RawCursor), id="raw_cursor"),
        pytest.param(
            lambda url: psycopg.connect(url, cursor_factory=psycopg.ClientCursor), id="client_cursor"
        ),
        pytest.param(lambda url: psycopg.connect(url, prepare_threshold=0), id="prepared"),
        pytest.param(with_ids_as_text, id="ids_as_text"),
    ],
)
def test_a_psycopg_connection_may_be_set_up_as_its_owner_likes(
    charge: AnyTask, holdfast_db: ScratchDatabase, connect: Callable[[str], psycopg.Connection[Any]]
) -> None:
    with connect(holdfast_db.url) as conn:
        handle = charge.using(conn=conn).enqueue(7)

    assert isinstance(handle.id, UUID)
    assert job_ids(holdfast_db.owner_url) == [handle.id]


def test_in_autocommit_the_job_is_durable_at_once(charge: AnyTask, login: psycopg.Connection) -> None:
    assert charge.using(conn=login).enqueue(7).status() is Status.PENDING


def test_a_savepoint_rolled_back_takes_its_job_along(
    charge: AnyTask, holdfast_db: ScratchDatabase, login: psycopg.Connection
) -> None:
    with login.transaction():
        kept = charge.using(conn=login).enqueue(1)
        with login.transaction(force_rollback=True):
            charge.using(conn=login).enqueue(2)

    assert job_ids(holdfast_db.owner_url) == [kept.id]


def test_a_pipeline_takes_jobs_too(app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with psycopg.connect(holdfast_db.url) as conn, conn.pipeline():
        conn.execute("select 1")
        one = charge.using(conn=conn).enqueue(1)
        many = app.enqueue_many([charge.job(order) for order in range(1500)], conn=conn)

    assert job_ids(holdfast_db.owner_url) == [one.id, *(handle.id for handle in many)]


def test_a_pool_lends_a_connection_that_works(charge: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with ConnectionPool(holdfast_db.url, min_size=1, open=True) as pool, pool.connection() as conn:
        handle = charge.using(conn=conn).enqueue(7)

    assert handle.status() is Status.PENDING


def test_very_many_jobs_want_a_transaction(
    app: Holdfast, charge: AnyTask, holdfast_db: ScratchDatabase, login: psycopg.Connection
) -> None:
    jobs = [charge.job(order) for order in range(1500)]

    with pytest.raises(
        BadInput, match="commits each statement, and so many jobs need several: begin a transaction"
    ):
        app.enqueue_many(jobs, conn=login)
    with (
        engine_on(holdfast_db.url, isolation_level="AUTOCOMMIT") as engine,
        orm.Session(engine) as session,
        pytest.raises(BadInput, match="commits each statement"),
    ):
        app.enqueue_many(jobs, conn=session)
    with django_on(holdfast_db.url) as connection, pytest.raises(BadInput, match="commits each statement"):
        app.enqueue_many(jobs, conn=connection)

    assert job_ids(holdfast_db.owner_url) == []


def test_django_outside_atomic_commits_at_once(charge: AnyTask, holdfast_db: ScratchDatabase) -> None:
    with django_on(holdfast_db.url) as connection:
        handle = charge.using(conn=connection).enqueue(7)

    assert handle.status() is Status.PENDING


def test_a_job_and_a_row_of_the_callers_go_together(
    charge: AnyTask, holdfast_db: ScratchDatabase, owner: psycopg.Connection
) -> None:
    owner.execute("create table orders (id int primary key)")
    owner.execute("grant insert on orders to public")

    with engine_on(holdfast_db.url) as engine, orm.Session(engine) as session:
        session.execute(sa.text("insert into orders values (7)"))
        charge.using(conn=session).enqueue(7)
        session.rollback()
        session.execute(sa.text("insert into orders values (8)"))
        charge.using(conn=session).enqueue(8)
        session.commit()

    assert owner.execute("select id from orders").fetchall() == [(8,)]
    assert [job.payload for job in holdfast_db.jobs()] == [{"order": 8}]


def closed_psycopg(url: str) -> Any:
    conn = psycopg.connect(url)
    conn.close()
    return conn


def closed_sqlalchemy(url: str) -> Any:
    with engine_on(url) as engine, engine.connect() as conn:
        pass
    return conn


@pytest.mark.parametrize("closed", [closed_psycopg, closed_sqlalchemy])
def test_a_closed_connection_is_named_as_such(
    charge: AnyTask, holdfast_db: ScratchDatabase, closed: Callable[[str], Any]
) -> None:
    with pytest.raises(
        BadInput, match=r"\.Connection, which is closed: enqueue while its transaction is open"
    ):
        charge.using(conn=closed(holdfast_db.url)).enqueue(7)


class Sqlite:
    vendor = "sqlite"

    def cursor(self) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("postgresql://localhost/shop", "builtins.str"),
        (sa.create_engine("postgresql+psycopg://nowhere/shop"), "sqlalchemy.engine.base.Engine"),
        (orm.sessionmaker(), "sqlalchemy.orm.session.sessionmaker"),
        (object(), "builtins.object"),
    ],
    ids=["url", "engine", "sessionmaker", "object"],
)
def test_what_is_no_connection_is_named_with_what_would_be_one(
    app: Holdfast, charge: AnyTask, wrong: Any, named: str
) -> None:
    with pytest.raises(
        BadInput, match=rf"conn= got {named}; it takes a psycopg or asyncpg connection, an SQLAlchemy"
    ):
        charge.using(conn=wrong).enqueue(7)


def test_another_kind_of_database_is_named(charge: AnyTask) -> None:
    with pytest.raises(BadInput, match="Django's connection to sqlite; jobs live in PostgreSQL"):
        charge.using(conn=Sqlite()).enqueue(7)


def test_a_broken_connection_gives_its_own_librarys_error(
    charge: AnyTask, owner: psycopg.Connection, holdfast_db: ScratchDatabase
) -> None:
    with psycopg.connect(holdfast_db.url) as conn:
        charge.using(conn=conn).enqueue(7)
        owner.execute("select pg_terminate_backend(%s)", (conn.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError, match="terminating connection"):
            charge.using(conn=conn).enqueue(8)
        conn.close()

    assert job_ids(holdfast_db.owner_url) == []


def test_a_database_without_the_schema_says_how_to_get_it(
    app: Holdfast, charge: AnyTask, holdfast_server: TestServer
) -> None:
    with (
        holdfast_server.database(migrated=False) as empty,
        psycopg.connect(empty.owner_url) as conn,
        pytest.raises(SchemaMismatch, match="lacks Holdfast's schema; run: holdfast db migrate"),
    ):
        charge.using(conn=conn).enqueue(7)


def test_a_login_without_rights_is_told_which_it_needs(
    charge: AnyTask, owner: psycopg.Connection, holdfast_db: ScratchDatabase
) -> None:
    name = f"{owner.info.dbname}_stranger"
    owner.execute(f"create role {name}")
    try:
        with psycopg.connect(holdfast_db.owner_url) as conn:
            conn.execute(f"set local role {name}")
            with pytest.raises(NotAllowed, match="grant the login a Holdfast role"):
                charge.using(conn=conn).enqueue(7)
            conn.rollback()
    finally:
        owner.execute(f"drop role {name}")


def test_plain_sql_with_a_task_nobody_registered_is_refused(app: Holdfast, login: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error, match="task 'nobody' is not registered") as refused:
        login.execute("select holdfast.enqueue('nobody')")

    assert refused.value.sqlstate == "HF004"
