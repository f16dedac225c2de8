"""One table from SQLSTATEs to the errors callers can act on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple
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
    "HF061": errors.ScheduleNotFound,
    "HF062": errors.ScheduleExists,
    "HF071": errors.KeyNotFound,
    "HF072": errors.KeyRefused,
    "HF073": errors.PersonNotFound,
    "HF074": errors.PersonExists,
    "HF020": errors.ApprovalNotFound,
    "HF021": errors.ApprovalChanged,
    "HF013": errors.QuotaReached,
    "HF014": errors.WorkerNotFound,
    "HF015": errors.TenantBound,
    "HF016": errors.TenantsNotApart,
}
_MISSING_SCHEMA = {"3F000", "42P01", "42883", "42703"}
_BAD_JSON = {"22P02", "22P05", "22030", "22032", "54001"}
_CONNECTION_LOSS = {"25006", "25P03"}
_POOLED_STATEMENTS = {"26000", "42P05"}
# Nothing was done, nothing is wrong with what was asked, and another time it may work: 08 connection, 40 rolled back,
# 53 out of resources, 55P03 locked, 57 cancelled or shut down or idle too long, 58 the system around the server.
_PASSING = ("08", "40", "53", "55P03", "57", "58")
# What the values themselves break: 22 data, 23 constraints, 54 limits.
_BAD_VALUES = ("22", "23", "54")


class WorkerUnknown(errors.HoldfastError):
    """The database does not know this worker, or has declared it dead; it must register anew."""


class _Refusal(NamedTuple):
    """What the server said, whichever driver heard it."""

    state: str
    said: str
    detail: str | None


@contextmanager
def translated() -> Iterator[None]:
    """Turn driver errors into ours; what has no translation stays as it is."""
    try:
        yield
    except psycopg.Error as error:
        ours = _ours(_refusal(error)) or _lost(error)
        if ours is None:
            raise
        raise ours from error


@contextmanager
def refusals_translated() -> Iterator[None]:
    """Turn the machine's refusals into our errors, whichever library brings them.

    The connection is the caller's, and so are its other errors: their retry loops know them by class.
    """
    try:
        yield
    except Exception as error:
        origin = _origin(error)
        ours = _ours(_refusal(origin)) if origin is not None else None
        if ours is None:
            raise
        raise ours from error


def _ours(refusal: _Refusal) -> errors.HoldfastError | None:
    state, said, detail = refusal
    ours: errors.HoldfastError | None = None
    if state == "HF011":
        ours = _lease_lost(detail)
    elif state == "HF002":
        ours = WorkerUnknown(said)
    elif state == "HF006":
        ours = errors.DuplicateKey(said, UUID(detail) if detail else None)
    elif state == "HF012":
        ours = _limit_reached(said, detail)
    elif state == "HF022":
        ours = _closed(detail)
    elif state in _OURS:
        ours = _OURS[state](said)
    elif state in _MISSING_SCHEMA and "holdfast" in said:
        ours = errors.SchemaMismatch(
            f"{said}: this database lacks Holdfast's schema; run: holdfast db migrate"
        )
    elif state == "42501":
        ours = errors.NotAllowed(
            f"{said}: grant the login a Holdfast role (holdfast_producer, holdfast_worker, holdfast_api)"
        )
    elif state in _BAD_JSON:
        ours = errors.BadInput(f"PostgreSQL cannot store this JSON: {said}")
    return ours


def _lease_lost(detail: str | None) -> errors.LeaseLost:
    told = json.loads(detail or "{}")
    return errors.LeaseLost(UUID(told["job"]), told["attempt"], told["status"])


def _limit_reached(said: str, detail: str | None) -> errors.LimitReached:
    told = json.loads(detail or "{}")
    return errors.LimitReached(said, UUID(told["job"]) if told["job"] else None, told["key"])


def _closed(detail: str | None) -> errors.ApprovalClosed:
    told = json.loads(detail or "{}")
    decided_at = datetime.fromisoformat(told["at"])
    return errors.ApprovalClosed(UUID(told["approval"]), told["decision"], told["by"], decided_at)


def _lost(error: psycopg.Error) -> errors.HoldfastError | None:
    said = _refusal(error).said or type(error).__name__
    if error.sqlstate == "55P03":
        return errors.Busy(f"somebody holds a lock: {said}")
    if error.sqlstate in _POOLED_STATEMENTS:
        return errors.Configuration(
            f"{said}: a transaction pooler stands between; set HOLDFAST_PREPARED_STATEMENTS=off"
        )
    if is_connection_loss(error):
        return errors.DatabaseUnavailable(f"the database cannot be reached: {said}")
    if (error.sqlstate or "").startswith(_BAD_VALUES):
        return errors.BadInput(f"PostgreSQL cannot store this: {said}")
    return None


def is_connection_loss(error: psycopg.Error) -> bool:
    """Whether the connection is gone or the server cannot now, rather than the statement wrong."""
    state = error.sqlstate or ""
    if state:
        return state.startswith(_PASSING) or state in _CONNECTION_LOSS
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def _origin(error: BaseException) -> BaseException | None:
    """Find the driver's error under what other libraries have wrapped around it."""
    found = None
    link: BaseException | None = error
    while link is not None:
        if hasattr(link, "diag") or hasattr(link, "sqlstate"):
            found = link
        link = link.__cause__
    return found


def _refusal(error: BaseException) -> _Refusal:
    """Read state, message and hint; the detail only by itself, because it can hold a row's contents."""
    diag: Any = getattr(error, "diag", None)
    if diag is not None:  # psycopg and psycopg2
        state, message, hint, detail = (
            diag.sqlstate,
            diag.message_primary,
            diag.message_hint,
            diag.message_detail,
        )
    else:  # asyncpg
        state, message, hint, detail = (
            getattr(error, name, None) for name in ("sqlstate", "message", "hint", "detail")
        )
    message = message or " ".join(str(error).split())  # libpq breaks its lines
    return _Refusal(state or "", f"{message} ({hint})" if hint else message, detail)
