"""One table from SQLSTATEs to the errors callers can act on."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg

from holdfast.domain import errors

_OURS: dict[str, type[errors.HoldfastError]] = {
    "HF001": errors.IllegalMove,
    "HF003": errors.Unchangeable,
    "HF004": errors.UnknownTask,
    "HF005": errors.BadInput,
    "HF007": errors.IdReused,
    "HF008": errors.NotRetryable,
    "HF009": errors.JobNotFound,
    "HF010": errors.SchemaMismatch,
}
_MISSING_SCHEMA = {"3F000", "42P01", "42883", "42703"}
_BAD_JSON = {"22P02", "22P05", "22030", "22032", "54001"}


class WorkerUnknown(errors.HoldfastError):
    """The database does not know this worker, or has declared it dead; it must register anew."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn driver errors into ours; what has no translation stays as it is."""
    try:
        yield
    except psycopg.Error as error:
        ours = _translate(error)
        if ours is None:
            raise
        raise ours from error


def _translate(error: psycopg.Error) -> errors.HoldfastError | None:
    state = error.sqlstate or ""
    said = _said(error)
    if state == "HF002":
        return WorkerUnknown(said)
    if state == "HF006":
        return errors.DuplicateKey(said, UUID(error.diag.message_detail or ""))
    if state in _OURS:
        return _OURS[state](said)
    if state in _MISSING_SCHEMA and "holdfast" in said:
        return errors.SchemaMismatch(f"{said}: this database lacks Holdfast's schema; run: holdfast db migrate")
    if state == "42501":
        return errors.NotAllowed(f"{said}: grant the login a Holdfast role (holdfast_producer, holdfast_worker, holdfast_api)")
    if state in _BAD_JSON:
        return errors.BadInput(f"PostgreSQL cannot store this JSON: {said}")
    if is_connection_loss(error):
        return errors.DatabaseUnavailable(f"the database cannot be reached: {said or type(error).__name__}")
    return None


def is_connection_loss(error: psycopg.Error) -> bool:
    """Whether the connection is gone, rather than the statement wrong."""
    state = error.sqlstate or ""
    if state:
        return state.startswith("08") or state in {"57P01", "57P02", "57P03", "53300", "53400", "25006"}
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def _said(error: psycopg.Error) -> str:
    """Message and hint; never DETAIL, which can hold a row's contents."""
    message = error.diag.message_primary or str(error).strip()
    hint = error.diag.message_hint
    return f"{message} ({hint})" if hint else message
