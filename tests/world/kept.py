"""Databases that outlive a test: emptied for the next one, where a test has left nothing else behind than rows.

A database of its own costs a test more than most tests do with it: it is copied, and every session there looks up and plans anew what the
last one did. A test that needs one on which nobody was before asks for it by `@pytest.mark.new_database`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql

from holdfast.testing import ScratchDatabase, TestServer
from world import sessions

EMPTIED = Path(__file__).with_name("emptied.sql").read_text("utf-8")
# Autovacuum looks in every minute, and would make plans of one test depend on the rows of others.
MOST_TESTS = 60
MOST_BYTES = 3_000_000
# What tests define shows here, whoever defines it; what is temporary goes with its session.
CATALOGS = (
    "pg_attribute where attrelid not in (select oid from pg_class where relpersistence = 't')",
    "pg_class where relpersistence <> 't'",
    "pg_constraint",
    "pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())",
    "pg_default_acl",
    "pg_event_trigger",
    "pg_extension",
    "pg_namespace where nspname !~ '^pg_(toast_)?temp_'",
    "pg_operator",
    "pg_policy",
    "pg_proc where oid <> 'holdfast.clock'::regproc",
    "pg_rewrite",
    "pg_statistic",
    "pg_trigger",
    "pg_type where typrelid not in (select oid from pg_class where relpersistence = 't')",
)
DEFINED = sql.SQL(" union all ").join(
    sql.SQL("(select max(xmin::text::bigint), count(*) from {})").format(sql.SQL(catalog))
    for catalog in cast("tuple[LiteralString, ...]", CATALOGS)
)
# What vacuum and analyze have told the planner stands beside the definitions, whose rows it does not make anew.
KNOWN = "select sum(relpages), sum(reltuples) from pg_class where relnamespace = 'holdfast'::regnamespace"
SCHEMAS = "select nspname from pg_namespace where nspname <> all ('{holdfast,public,information_schema}') and nspname !~ '^pg_'"
CLOCK = "select pg_get_functiondef('holdfast.clock'::regproc)"
# Those that others refer to come last.
TABLES = """
select c.relname
  from pg_class c
 where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
 order by exists (select from pg_constraint f where f.contype = 'f' and f.confrelid = c.oid), c.relname
"""
SEQUENCES = """
select s.seqrelid::regclass::text, coalesce(pg_sequence_last_value(s.seqrelid), s.seqstart), pg_sequence_last_value(s.seqrelid) is not null
  from pg_sequence s
"""
OTHERS = """
select (select count(*) from pg_stat_activity a where a.datname = current_database() and a.pid <> all (%s) and a.backend_type = 'client backend'),
       (select sum(pg_relation_size(c.oid)) from pg_class c where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'r'),
       pg_relation_size('holdfast.job_history_rest') > 0   -- which tells a doctor that rows have landed there
"""
# Not everybody may, on a server of one's own; dead rows are those of all tests before then.
RESET = "select pg_stat_reset() where has_function_privilege('pg_stat_reset()', 'execute')"


def define_emptying(owner: psycopg.Connection) -> None:
    """Define `pg_temp.be_empty()` in this session: it takes every row away that is not there now, and brings those back that are."""
    tables = [sql.Identifier("holdfast", name) for (name,) in owner.execute(TABLES).fetchall()]
    sequences = owner.execute(SEQUENCES).fetchall()
    owner.execute(
        sql.SQL(EMPTIED).format(
            deletes=sql.SQL(" ").join(sql.SQL("delete from {};").format(table) for table in tables),
            inserts=sql.SQL(" ").join(_insert(owner, table) for table in reversed(tables)),
            restarts=sql.SQL(" ").join(
                sql.SQL("perform setval({}, {}, {});").format(*map(sql.Literal, sequence))
                for sequence in sequences
            ),
        )
    )


def _insert(owner: psycopg.Connection, table: sql.Identifier) -> sql.Composable:
    (rows,) = owner.execute(sql.SQL("select json_agg(t)::text from {} as t").format(table)).fetchone() or (
        None,
    )
    again = "insert into {table} select * from json_populate_recordset(null::{table}, {rows});"
    return sql.SQL(again).format(table=table, rows=sql.Literal(rows)) if rows else sql.SQL("")


class _Kept:
    """One database that is lent to one test after the other."""

    def __init__(self, server: TestServer) -> None:
        with ExitStack() as stack:
            made = stack.enter_context(TestServer.database(server))
            self.owner_url, self.url = made.owner_url, made.url
            self._place = sessions.place_of(made.owner_url)
            self._tests = 0
            self._owner = stack.enter_context(psycopg.connect(made.owner_url, autocommit=True))
            define_emptying(self._owner)
            self._clock = self._one(CLOCK)
            self._defined = self._definitions()
            sessions.keep(self._place)
            self._lending = stack.pop_all()

    def _one(self, question: LiteralString, *given: Any) -> tuple[Any, ...]:
        answer = self._owner.execute(question, given or None).fetchone()
        assert answer is not None
        return answer

    def _definitions(self) -> list[tuple[Any, ...]]:
        return [*self._owner.execute(DEFINED).fetchall(), self._one(KNOWN)]

    def is_ready(self) -> bool:
        """Empty it for the next test; answers whether it is as it was."""
        self._tests += 1
        if self._tests == MOST_TESTS:
            return False
        try:
            ours = [self._owner.info.backend_pid, *sessions.idle(self._place)]
            others, size, has_rest = self._one(OTHERS, ours)
            if others or size > MOST_BYTES or has_rest:
                return False
            self._take_back_definitions()
            if self._definitions() != self._defined:
                return False
            self._owner.execute("select pg_temp.be_empty(), pg_stat_force_next_flush()")
            self._owner.execute(RESET)
        except psycopg.Error:
            return False
        return True

    def _take_back_definitions(self) -> None:
        """Undo what many tests do: products have a schema of their own, and time is moved by a definition."""
        for (name,) in self._owner.execute(SCHEMAS).fetchall():
            self._owner.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(name)))
        if self._one(CLOCK) != self._clock:
            self._owner.execute(self._clock[0])

    def end(self) -> None:
        """Give it back for good."""
        sessions.end(self._place)
        self._lending.close()


class Lender:
    """Lends the databases of a server, one test after the other."""

    def __init__(self, server: TestServer) -> None:
        self._server = server
        self._waiting: list[_Kept] = []

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[ScratchDatabase]:
        """Lend a database that only one test sees, as `TestServer.database` does, which lends new ones."""
        if not migrated:
            with TestServer.database(self._server, migrated=False) as database:
                yield database
            return
        kept = self._waiting.pop() if self._waiting else _Kept(self._server)
        database, is_ready = ScratchDatabase(kept.owner_url, kept.url), False
        try:
            yield database
        finally:
            try:
                database.close()
                is_ready = kept.is_ready()
            finally:
                if is_ready:
                    self._waiting.append(kept)
                else:
                    kept.end()

    def end(self) -> None:
        """Give all back that wait for another test."""
        while self._waiting:
            self._waiting.pop().end()


@contextmanager
def keeping(server: TestServer) -> Iterator[None]:
    """Have a server lend databases that wait for their next test, while the block lasts."""
    lender = Lender(server)
    server.database = lender.database  # type: ignore[method-assign]
    try:
        yield
    finally:
        del server.database
        lender.end()
