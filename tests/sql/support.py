"""What the SQL tests say often: a job brought into a status, a worker, a claim, the rows that came of it."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from holdfast.domain.states import Status
from holdfast.store.databases import drop_database, url_of
from holdfast.testing import ScratchDatabase

Row = dict[str, Any]
Connection = psycopg.Connection[Any]

# What each status needs in its row; everything else that belongs to a status is cleared by MOVE.
NEEDS: dict[Status, Row] = {
    Status.PENDING: {},
    Status.RUNNING: {"holder": UUID(int=7), "claim_id": UUID(int=8)},
    Status.RETRY: {"due_in": 60},
    Status.WAITING_FOR_APPROVAL: {"approval_id": UUID(int=9)},
    Status.WAITING: {"due_in": 60},
    Status.COMPLETED: {},
    Status.FAILED: {"error": Jsonb({"type": "Boom", "message": "no", "traceback": "long"})},
    Status.CANCELLED: {},
}
# A legal way to each status.
PATHS: dict[Status, tuple[Status, ...]] = {
    Status.PENDING: (),
    Status.RUNNING: (Status.RUNNING,),
    Status.RETRY: (Status.RUNNING, Status.RETRY),
    Status.WAITING_FOR_APPROVAL: (Status.RUNNING, Status.WAITING_FOR_APPROVAL),
    Status.WAITING: (Status.RUNNING, Status.WAITING),
    Status.COMPLETED: (Status.RUNNING, Status.COMPLETED),
    Status.FAILED: (Status.RUNNING, Status.FAILED),
    Status.CANCELLED: (Status.CANCELLED,),
}
TERMINAL = tuple(status for status in Status if status.is_terminal)

MOVE = """
update holdfast.job
   set status = %(status)s, holder = %(holder)s, claim_id = coalesce(%(claim_id)s, claim_id),
       due_at = holdfast.clock() + make_interval(secs => %(due_in)s), approval_id = %(approval_id)s,
       error = coalesce(%(error)s, error), claim_order = null, deadline_at = null, held_by = null, reason = %(reason)s
 where id = %(id)s
"""


class Machine:
    """One connection, and the statements that a person with psql would write on it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def one(self, statement: str, *parameters: Any) -> Row:
        (row,) = self.rows(statement, *parameters)
        return row

    def value(self, statement: str, *parameters: Any) -> Any:
        (value,) = self.one(statement, *parameters).values()
        return value

    def run(self, statement: str, *parameters: Any) -> int:
        return self.connection.execute(statement, parameters or None).rowcount

    # -- jobs --------------------------------------------------------------------------------------------------------

    def register(self, *names: str, **settings: Any) -> None:
        definitions = [{"name": name, **settings} for name in names or ("t",)]
        self.value("select holdfast.register_tasks(%s)", Jsonb(definitions))

    def enqueue(self, task: str = "t", payload: Mapping[str, Any] | None = None, **options: Any) -> UUID:
        given = {"task": task, "payload": Jsonb(dict(payload or {})), **options}
        places = ", ".join(f"p_{name} => %s" for name in given)
        job_id: UUID = self.value(f"select holdfast.enqueue({places})", *given.values())
        return job_id

    def enqueue_many(
        self, jobs: list[dict[str, Any]], declared: list[dict[str, Any]] | None = None
    ) -> list[Row]:
        extra = Jsonb(declared) if declared is not None else None
        return self.rows("select * from holdfast.enqueue_many(%s, %s)", Jsonb(jobs), extra)

    def move(self, job_id: UUID, status: Status, **columns: Any) -> None:
        """Move by plain UPDATE, with everything that the status needs."""
        nothing = dict.fromkeys(("holder", "claim_id", "due_in", "approval_id", "error", "reason"))
        needed = {**nothing, **NEEDS[status], **columns}
        if status is Status.RUNNING and "claim_id" not in columns:
            needed["claim_id"] = uuid4()
        self.connection.execute(MOVE, {**needed, "status": status.value, "id": job_id})

    def job_in(self, status: Status, task: str = "t", **options: Any) -> UUID:
        """Make a job and walk it to a status."""
        job_id = self.enqueue(task, **options)
        for step in PATHS[status]:
            self.move(job_id, step)
        return job_id

    def job(self, job_id: UUID) -> Row:
        return self.one("select * from holdfast.job where id = %s", job_id)

    def status(self, job_id: UUID) -> Status:
        return Status(self.value("select status from holdfast.job where id = %s", job_id))

    def count(self, table: str = "holdfast.job") -> int:
        number: int = self.value(f"select count(*) from {table}")
        return number

    def history(self, job_id: UUID) -> list[Row]:
        return self.rows("select * from holdfast.job_history where job_id = %s order by seq", job_id)

    def path(self, job_id: UUID) -> list[Status]:
        return [Status(row["to_status"]) for row in self.history(job_id)]

    def attempts(self, job_id: UUID) -> list[Row]:
        return self.rows("select * from holdfast.attempt where job_id = %s order by attempt", job_id)

    # -- workers -----------------------------------------------------------------------------------------------------

    def worker(self, name: str = "w", lease: int = 30) -> UUID:
        worker_id = uuid4()
        self.value(
            "select holdfast.register_worker(%s, %s, 'host', 1, '0', '{\"default\": 10}', '{t}', make_interval(secs => %s), pg_catalog.clock_timestamp())",
            worker_id, name, lease,
        )  # fmt: skip
        return worker_id

    def claim(
        self, worker: UUID, limit: int = 10, *, queue: str = "default", tasks: tuple[str, ...] = ("t",)
    ) -> list[Row]:
        claim_id = uuid4()
        claimed = self.rows(
            "select * from holdfast.claim(%s, %s, %s, %s, %s)", worker, claim_id, queue, list(tasks), limit
        )
        return [{**row, "claim_id": claim_id} for row in claimed]

    def claim_suspect(self, worker: UUID, tasks: tuple[str, ...] = ("t",)) -> list[Row]:
        claim_id = uuid4()
        claimed = self.rows(
            "select * from holdfast.claim_suspect(%s, %s, '{default}', %s)", worker, claim_id, list(tasks)
        )
        return [{**row, "claim_id": claim_id} for row in claimed]

    def complete(
        self, worker: UUID, *claimed: Row, result: str | None = None, logs: str | None = None
    ) -> list[Row]:
        """Complete attempts; answers with those that were refused."""
        return self.rows(
            "select * from holdfast.complete(%s, %s, %s, %s, %s, %s)",
            worker, [c["id"] for c in claimed], [c["attempt"] for c in claimed], [c["claim_id"] for c in claimed],
            [result for _ in claimed], [logs for _ in claimed] if logs else None,
        )  # fmt: skip

    def ask(self, function: str, claimed: Row, *arguments: Any) -> Row:
        """Ask, as the attempt that has this claim."""
        fence = (claimed["id"], claimed["attempt"], claimed["claim_id"])
        places = ", ".join(["%s"] * (3 + len(arguments)))
        return self.one(f"select * from holdfast.{function}({places})", *fence, *arguments)

    def settle(self, worker: UUID, *claimed: Row, **outcome: Any) -> list[Row]:
        settlements = [
            {"id": str(c["id"]), "attempt": c["attempt"], "claim_id": str(c["claim_id"]), **outcome}
            for c in claimed
        ]
        return self.rows("select * from holdfast.settle(%s, %s)", worker, Jsonb(settlements))

    def log(self, worker: UUID, job_id: UUID, first: int, *messages: str) -> int:
        """Save lines of the attempt that runs, of which so many come before; gives how many there are then."""
        job = self.job(job_id)
        lines = [{"level": "INFO", "logger": "shop", "message": each} for each in messages]
        saved = self.one(
            "select * from holdfast.save_logs(%s, %s, %s, %s, %s, %s)",
            worker, [job_id], [job["attempt"]], [job["claim_id"]], [first], [json.dumps(lines)],
        )  # fmt: skip
        return int(saved["kept"])

    def sweep(self) -> Row:
        return self.one("select * from holdfast.sweep()")

    def fall_silent(self, worker: UUID) -> None:
        """Let time go by that this worker cannot afford; all others can."""
        self.run("update holdfast.worker set lease = interval '1 second' where id = %s", worker)
        self.advance(2)

    def advance(self, seconds: float) -> None:
        """Move the clock, as far as this transaction sees it."""
        ahead = self.value(
            "select extract(epoch from holdfast.clock() - pg_catalog.clock_timestamp())::float8"
        )
        self.run(
            "create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe"
            f" return pg_catalog.clock_timestamp() + make_interval(secs => {ahead + seconds})"
        )

    # -- errors ------------------------------------------------------------------------------------------------------

    @contextmanager
    def refused(self, sqlstate: str, *words: str) -> Iterator[None]:
        """Expect an error with this SQLSTATE whose message has these words, and nothing written by it."""
        with pytest.raises(psycopg.Error) as refused, self.connection.transaction():
            yield
        said = f"{refused.value.sqlstate}: {refused.value.diag.message_primary}"
        assert refused.value.sqlstate == sqlstate, said
        assert all(word in said for word in words), said


@contextmanager
def machine_on(url: str) -> Iterator[Machine]:
    """Open a connection of one's own."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield Machine(connection)


PATIENCE = 20.0
_WAITING = "select count(*) from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0"


def until_somebody_waits(database: ScratchDatabase, number: int = 1) -> None:
    """Look until so many sessions of this database wait for others' locks; an AssertionError when they never do."""
    until = monotonic() + PATIENCE
    with machine_on(database.owner_url) as observer:
        while observer.value(_WAITING) < number:
            assert monotonic() < until, "nobody waits for a lock"


@contextmanager
def meanwhile(database: ScratchDatabase) -> Iterator[tuple[psycopg.Connection, Callable[..., Future[str]]]]:
    """Give a connection whose transaction ends with the block, and what asks beside it and says what it was told."""

    def ask(statement: str, *parameters: object) -> str:
        with machine_on(database.owner_url) as machine:
            try:
                return str([tuple(row.values()) for row in machine.rows(statement, *parameters)])
            except psycopg.Error as refused:
                return str(refused.sqlstate)

    with ThreadPoolExecutor(4) as threads, psycopg.connect(database.owner_url) as held:
        yield held, lambda *said: threads.submit(ask, *said)


def until_it_waits(database: ScratchDatabase, asked: Future[Any]) -> None:
    """Look until what was asked waits for a lock, or is answered because it waits for none: what it is told says which."""
    until = monotonic() + PATIENCE
    with machine_on(database.owner_url) as observer:
        while not asked.done() and observer.value(_WAITING) < 1:
            assert monotonic() < until, "it neither waits for a lock nor is answered"


def rows_read(machine: Machine) -> int:
    """Count the rows of holdfast.job that this connection has read; only the difference of two counts means something."""
    number: int = machine.value(
        "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'holdfast.job'::regclass"
    )
    return number


def refused(machine: Machine, statement: str, *parameters: object) -> str | None:
    """Try a statement; gives the SQLSTATE of its refusal."""
    try:
        with machine.connection.transaction(force_rollback=True):
            machine.run(statement, *parameters)
    except psycopg.Error as error:
        return error.sqlstate
    return None


@contextmanager
def database_for(admin_url: str, rights: str) -> Iterator[str]:
    """Make a login with some rights and a database where it may create a schema; answers the login's address."""
    name = f"holdfast_test_{secrets.token_hex(4)}"
    login = sql.Identifier(name)
    with psycopg.connect(admin_url, autocommit=True) as admin:
        # Not from template1, which has the schema where mutants are tried.
        admin.execute(sql.SQL("create database {} template template0").format(login))
    owner_url = url_of(admin_url, dbname=name)
    with psycopg.connect(owner_url, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login {} password 'x'").format(login, sql.SQL(rights)))
        admin.execute(sql.SQL("grant create on database {} to {}").format(login, login))
        yield url_of(owner_url, user=name, password="x")
    drop_database(admin_url, name)
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL("drop owned by {}").format(login))
        admin.execute(sql.SQL("drop role {}").format(login))
