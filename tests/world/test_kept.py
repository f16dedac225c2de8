"""What one test leaves in a database or a session that is kept, the next one does not find."""

from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from holdfast import Context, Holdfast
from holdfast.testing import ScratchDatabase, TestServer
from world.draining import drain
from world.kept import MOST_TESTS, TABLES, Lender

# Whatever of it is set, the next who has the session would meet.
OF_A_SESSION: LiteralString = """
select current_user, current_setting('work_mem'), nullif(current_setting('holdfast.tenant', true), ''), to_regclass('pg_temp.mine'),
       (select count(*) from pg_prepared_statements), (select count(*) from pg_listening_channels()),
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
"""
USED: LiteralString = """
set role pg_monitor; set work_mem = '1MB'; select set_config('holdfast.tenant', 'acme', false); reset role;
create temporary table mine (); prepare mine as select 1; listen mine; select pg_advisory_lock(1); set role pg_monitor
"""


@pytest.fixture
def lender(holdfast_server: TestServer) -> Iterator[Lender]:
    """Give one that has lent nothing yet."""
    lender = Lender(holdfast_server)
    yield lender
    lender.end()


def name_of(database: ScratchDatabase) -> Any:
    return conninfo_to_dict(database.owner_url)["dbname"]


def rows_of(database: ScratchDatabase) -> dict[str, Any]:
    asked = sql.SQL("select json_agg(t)::text from {} as t")
    with psycopg.connect(database.owner_url) as owner:
        tables = [sql.Identifier("holdfast", name) for (name,) in owner.execute(TABLES).fetchall()]
        return {str(table): owner.execute(asked.format(table)).fetchone() for table in tables}


def is_lent_again(lender: Lender, leave: Callable[[ScratchDatabase], object]) -> bool:
    """Say whether a database is lent to the next test in which one has left something."""
    with lender.database() as database:
        leave(database)
    with lender.database() as next_one:
        return bool(name_of(next_one) == name_of(database))


def does(statement: LiteralString) -> Callable[[ScratchDatabase], object]:
    def do(database: ScratchDatabase) -> None:
        with psycopg.connect(database.owner_url) as owner:
            owner.execute(statement)

    return do


def test_a_database_is_lent_again_with_the_rows_that_it_began_with(
    lender: Lender, holdfast_server: TestServer
) -> None:
    with TestServer.database(holdfast_server) as new:
        began_with = rows_of(new)

    def work(database: ScratchDatabase) -> None:
        app = database.use(Holdfast())

        @app.task(limit={"max": 1})
        async def done() -> None: ...

        @app.task()
        async def asks(ctx: Context) -> None:
            await ctx.approval("gate", question="May I?")

        @app.task(queue="nobody's")
        async def waits() -> None: ...

        app.schedules.create("nightly", done, cron="0 2 * * *")
        app.emit("paid", {"order": 1})
        for _ in range(3):
            done.enqueue()
        asks.enqueue()
        drain(app, projector=True)
        waits.using(tenant="acme", key="only").enqueue()

    assert is_lent_again(lender, work)
    with lender.database() as database:
        assert rows_of(database) == began_with


def test_rows_that_refer_to_others_go_before_them(lender: Lender) -> None:
    me = "'00000000-0000-7000-8000-000000000001'"
    asleep = (
        f"select holdfast.register_worker({me}, 'w', 'h', 1, '1', '{{}}', '{{}}', interval '1 minute', now());"
        f" select holdfast.fall_asleep({me}, '{{q}}')"
    )

    assert is_lent_again(lender, does(asleep))
    with lender.database() as database, psycopg.connect(database.owner_url) as owner:
        assert owner.execute("select count(*) from holdfast.worker").fetchone() == (0,)


def test_ids_begin_anew(lender: Lender) -> None:
    given = "select nextval('holdfast.event_id_seq')"
    assert is_lent_again(lender, does(given))

    with lender.database() as database, psycopg.connect(database.owner_url) as owner:
        assert owner.execute(given).fetchone() == (1,)


def test_the_time_is_what_it_was_and_a_schema_of_a_products_is_gone(lender: Lender) -> None:
    def leave(database: ScratchDatabase) -> None:
        database.clock.advance(3600)
        database.create_schema("shop")

    assert is_lent_again(lender, leave)
    with lender.database() as database, psycopg.connect(database.owner_url) as owner:
        asked = "select holdfast.clock() - clock_timestamp() < interval '1 minute', to_regnamespace('shop')"
        assert owner.execute(asked).fetchone() == (True, None)


@pytest.mark.parametrize(
    "statement",
    [
        "create table public.mine ()",
        "create or replace function holdfast.is_terminal(p_status holdfast.job_status) returns boolean language sql as 'select true'",
        "alter table holdfast.job disable trigger guard_move",
        "grant select (id) on holdfast.job to public",
        "alter table holdfast.job alter column priority set default 7",
        "drop index holdfast.job_key",
        "create type public.mine as enum ('a')",
        "insert into holdfast.queue (name) values ('x'); analyze holdfast.queue",
        "create function public.mine() returns event_trigger language plpgsql as 'begin end'",
        "do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$",
        "alter default privileges in schema holdfast grant select on tables to public",
        "insert into holdfast.duration select * from holdfast.duration limit 0; create operator public.<@@> (leftarg = int, rightarg = int, function = pg_catalog.int4eq)",
        "insert into holdfast.audit (actor, action, target) select 'x', 'x', repeat('x', 300) from generate_series(1, 20000)",
    ],
)
def test_one_in_which_something_was_defined_or_much_was_written_is_not_lent_again(
    lender: Lender, statement: LiteralString
) -> None:
    assert not is_lent_again(lender, does(statement))


def test_one_is_not_lent_again_where_history_has_landed_in_the_rest(lender: Lender) -> None:
    def leave(database: ScratchDatabase) -> None:
        database.clock.advance(400 * 86_400)
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("insert into holdfast.task (name) values ('t') on conflict do nothing")
            owner.execute(
                "select holdfast.enqueue('t', p_id => overlay(holdfast.uuid_at(holdfast.clock())::text placing '7' from 15)::uuid)"
            )

    assert not is_lent_again(lender, leave)


def test_a_session_that_waits_bears_no_name_of_ours(lender: Lender) -> None:
    with lender.database() as database:
        with psycopg.connect(database.owner_url, application_name="holdfast listen") as first:
            backend = first.info.backend_pid

        with psycopg.connect(database.url) as other:
            asked = "select application_name from pg_stat_activity where pid = %s"
            assert other.execute(asked, (backend,)).fetchone() == ("kept",)


def test_one_that_somebody_is_still_connected_to_is_not_lent_again(lender: Lender) -> None:
    stays: list[psycopg.Connection] = []

    assert not is_lent_again(lender, lambda database: stays.append(psycopg.connect(database.owner_url)))

    for connection in stays:
        connection.close()


def test_none_is_lent_for_ever(lender: Lender) -> None:
    names = set()
    for _ in range(MOST_TESTS + 1):
        with lender.database() as database:
            names.add(name_of(database))

    assert len(names) == 2


def test_a_session_is_left_to_the_next_as_a_new_one(lender: Lender) -> None:
    with lender.database() as database:
        with psycopg.connect(database.owner_url, autocommit=True) as first:
            as_new, backend = first.execute(OF_A_SESSION).fetchone(), first.info.backend_pid
            first.execute(USED)
            assert first.execute(OF_A_SESSION).fetchone() != as_new

        with psycopg.connect(database.owner_url, application_name="next") as second:
            assert second.info.backend_pid == backend
            assert second.execute(OF_A_SESSION).fetchone() == as_new
            assert second.execute("show application_name").fetchone() == ("next",)


def test_what_a_session_had_not_committed_is_gone_and_whoever_closed_it_has_it_no_more(
    lender: Lender,
) -> None:
    with lender.database() as database:
        first = psycopg.connect(database.owner_url)
        backend = first.info.backend_pid
        first.execute("insert into holdfast.queue (name) values ('x')")
        first.close()

        assert first.closed
        with psycopg.connect(database.owner_url) as second:
            assert second.info.backend_pid == backend
            assert second.execute("select count(*) from holdfast.queue").fetchone() == (0,)


def test_a_session_that_was_ended_while_it_waited_is_not_given_to_anybody(
    lender: Lender, holdfast_server: TestServer
) -> None:
    with lender.database() as database:
        with psycopg.connect(database.owner_url) as first:
            backend = first.info.backend_pid
        with psycopg.connect(holdfast_server.admin_url) as admin:
            admin.execute("select pg_terminate_backend(%s, 5000)", (backend,))

        with psycopg.connect(database.owner_url) as second:
            assert second.info.backend_pid != backend
