"""Migrations: numbered SQL applied once, functions re-applied when they change; one migrator at a time."""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from holdfast.domain.errors import SchemaMismatch
from holdfast.store.call import Call, Row, perform_sync, statement
from holdfast.store.connection import Database
from holdfast.store.errors import translated

OLDEST_SERVER = 150000
LOCK_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
_FUNCTIONS = "functions"
_RELEASE = "release"
_CHAIN = "chain"  # since when histories have chains
_NO_STEPS = (_RELEASE, _CHAIN)


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of the schema: a migration, or all functions together."""

    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What tells this text from another."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What this release needs, compared with what the database has."""

    installed: dict[str, str]
    pending: list[Step]
    newer: list[str]
    changed: list[str]
    owner: str | None

    @property
    def is_current(self) -> bool:
        """Whether nothing is missing and nothing is unknown."""
        return not (self.pending or self.newer or self.changed)

    @property
    def has_roles(self) -> bool:
        """Whether least-privilege roles are in place, or one role does everything."""
        return self.owner == "holdfast_owner"

    def problem_for_workers(self) -> str | None:
        """Say why this release's workers cannot run on this schema; on a newer release's they can."""
        return replace(self, newer=[]).problem()

    def problem(self) -> str | None:
        """Say in a sentence what is wrong, or None."""
        if self.newer:
            return f"the database has {', '.join(self.newer)}, which this release does not know: upgrade Holdfast"
        if self.changed:
            return f"{', '.join(self.changed)} was applied with another content than this release has: restore the released file"
        if self.pending:
            return f"the schema is behind by {', '.join(step.name for step in self.pending)}; run: holdfast db migrate"
        return None


@cache
def _texts(folder: str) -> tuple[Step, ...]:
    entries = files("holdfast.store").joinpath("sql", folder).iterdir()
    found = [
        Step(entry.name.removesuffix(".sql"), entry.read_text("utf-8"))
        for entry in entries
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda step: step.name))


def _setup(name: str) -> str:
    return next(step.text for step in _texts("setup") if step.name == name)


def steps() -> list[Step]:
    """Everything this release installs, in order; the functions last, together with the rights on them."""
    functions = "\n".join([step.text for step in _texts("functions")] + [_setup("rights")])
    return [*_texts("migrations"), Step(_FUNCTIONS, functions)]


def compare(installed: dict[str, str], owner: str | None = None) -> SchemaState:
    """Compare what is installed with what this release has."""
    wanted = {step.name: step for step in steps()}
    return SchemaState(
        installed={name: checksum for name, checksum in installed.items() if name not in _NO_STEPS},
        pending=[step for step in wanted.values() if _is_pending(step, installed)],
        newer=sorted(name for name in installed if name not in {*wanted, *_NO_STEPS})
        + _newer_release(installed),
        changed=[
            name
            for name, step in wanted.items()
            if name != _FUNCTIONS and installed.get(name, step.checksum) != step.checksum
        ],
        owner=owner,
    )


def _newer_release(installed: dict[str, str]) -> list[str]:
    """Name the release that put the functions there, if it is newer than this one: its functions serve our workers too."""
    release = installed.get(_RELEASE, "0")
    return (
        [f"the functions of release {release}"]
        if _as_numbers(release) > _as_numbers(version("holdfast"))
        else []
    )


def _as_numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]


def _is_pending(step: Step, installed: dict[str, str]) -> bool:
    if step.name == _FUNCTIONS:
        return installed.get(step.name) != step.checksum and not _newer_release(installed)
    return step.name not in installed


def read_state(connection: psycopg.Connection[Any]) -> SchemaState:
    """Look at the database."""
    owner = perform_sync(connection, statement("schema_owner", lambda rows: rows[0][0] if rows else None))
    if owner is None:
        return compare({})
    installed: dict[str, str] = perform_sync(connection, statement("installed", _as_dict))
    return compare(installed, owner)


def schema_state() -> Call[SchemaState]:
    """Compare what a database that has the schema has installed with what this release has."""
    return statement("installed", lambda rows: compare(_as_dict(rows)))


def _as_dict(rows: list[Row]) -> dict[str, str]:
    return dict(rows)


def _script(step: Step) -> str:
    records = [_record(step.name, step.checksum)]
    if step.name == _FUNCTIONS:
        records.append(_record(_RELEASE, version("holdfast")))
    return "\n".join([_setup("schema"), step.text, *records])


def _record(what: str, checksum: str) -> str:
    return (
        sql.SQL(_setup("record"))
        .format(what=sql.Literal(what), checksum=sql.Literal(checksum))
        .as_string(None)
    )


def migrate(database: Database, on_step: Callable[[str], None] = lambda _name: None) -> list[str]:
    """Bring the schema up to this release; answers with the names of what was applied, and tells of each as it is."""
    with translated(), psycopg.connect(**database.arguments("holdfast migrate")) as connection:
        _require_server(connection)
        _refuse_unknown(read_state(connection))
        applied: list[str] = []
        while step := _apply_patiently(connection):
            applied.append(step.name)
            on_step(step.name)
        if applied:
            _run(connection, _texts_after())
        return applied


def _require_server(connection: psycopg.Connection[Any]) -> None:
    number = connection.info.server_version
    if number < OLDEST_SERVER:
        raise SchemaMismatch(f"PostgreSQL {number // 10000} is too old: Holdfast needs 15 or newer")


def _refuse_unknown(state: SchemaState) -> None:
    if state.newer or state.changed:
        raise SchemaMismatch(state.problem())


def _apply_patiently(connection: psycopg.Connection[Any]) -> Step | None:
    """Wait for locks only briefly, and again: everybody who comes after queues behind the one who waits."""
    for pause in LOCK_PAUSES:
        try:
            return _apply_next(connection)
        except psycopg.errors.LockNotAvailable:
            time.sleep(pause)
    return _apply_next(connection)


def _apply_next(connection: psycopg.Connection[Any]) -> Step | None:
    # A transaction a step: a new enum value must be committed before a later step may use it.
    with connection.transaction():
        perform_sync(connection, statement("migration_lock", lambda rows: rows))
        pending = read_state(connection).pending
        if not pending:
            return None
        _run(connection, _setup("roles"))
        _run(connection, _script(pending[0]))
        return pending[0]


def _texts_after() -> str:
    return _setup("after")


def _run(connection: psycopg.Connection[Any], text: str) -> None:
    connection.execute(text)


def as_script(pending: Sequence[Step]) -> str:
    """Write the same as a plain SQL script, for people who migrate by other means."""
    parts = [f"-- {step.name}\nbegin;\n{_setup('roles')}\n{_script(step)}\ncommit;\n" for step in pending]
    return "\n".join([*parts, _setup("after")]) if parts else ""
