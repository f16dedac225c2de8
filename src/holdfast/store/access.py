"""Keys, kept answers and the audit."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from holdfast.domain.access import KeyParts, Principal, Scope
from holdfast.store.call import Call, Row, function, nothing, query, single, statement


class StoredKey(NamedTuple):
    """A key that counts, as the database has it."""

    digest: bytes
    name: str
    tenant: str | None
    scopes: list[str]
    is_long_unused: bool

    @property
    def principal(self) -> Principal:
        """Who comes with this key."""
        scopes = frozenset(Scope(scope) for scope in self.scopes)
        return Principal(f"key:{self.name}", scopes, self.tenant, is_program=True)


class KeyRecord(NamedTuple):
    """What is told about a key: everything but its digest."""

    id: str
    name: str
    tenant: str | None
    scopes: list[str]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    counts: bool

    @property
    def status(self) -> Literal["active", "expired", "revoked"]:
        """What it is now."""
        return "active" if self.counts else "revoked" if self.revoked_at else "expired"


class KeptAnswer(NamedTuple):
    """What a request with this Idempotency-Key was answered before."""

    is_same: bool
    status: int
    answer: str


class Action(NamedTuple):
    """One row of holdfast.audit: what somebody did."""

    id: int
    at: datetime
    actor: str
    address: str | None
    action: str
    target: str | None
    tenant: str | None
    reason: str | None
    data: dict[str, Any] | None


def find_key(key_id: str) -> Call[StoredKey | None]:
    """Look a key up by its public id."""
    return function("find_key", key_id, read=lambda rows: StoredKey(*rows[0]) if rows else None)


def create_key(
    key: KeyParts,
    name: str,
    tenant: str | None,
    scopes: frozenset[Scope],
    expires_at: datetime | None,
    actor: str,
) -> Call[None]:
    """Store a key's digest."""
    return function(
        "create_key", key.id, key.digest, name, tenant, sorted(scopes), expires_at, actor, read=nothing
    )


def use_key(key_id: str) -> Call[None]:
    """Say that a key was used."""
    return function("use_key", key_id, read=nothing)


def rotate_key(
    key_id: str, bound: str | None, new: KeyParts, overlap: timedelta, expires_at: datetime | None, actor: str
) -> Call[None]:
    """Store a key that replaces another, which goes on for a while."""
    return function("rotate_key", key_id, bound, new.id, new.digest, overlap, expires_at, actor, read=nothing)


def revoke_key(key_id: str, bound: str | None) -> Call[bool]:
    """End a key at once; answers whether it counted until now."""
    return function("revoke_key", key_id, bound, read=single)


def list_keys(bound: str | None, after: str | None, limit: int) -> Call[list[KeyRecord]]:
    """List keys, newest first; a bound caller sees its own tenant's."""
    return function("list_keys", bound, None, after, limit, read=_read_keys, types=_LISTING)


def find_record(key_id: str, bound: str | None) -> Call[KeyRecord | None]:
    """Look up what is known about a key."""
    return function("list_keys", bound, key_id, None, 1, read=_read_record, types=_LISTING)


_LISTING = ("text", "text", "text", "int")


def _read_keys(rows: list[Row]) -> list[KeyRecord]:
    return [KeyRecord(*row) for row in rows]


def _read_record(rows: list[Row]) -> KeyRecord | None:
    return KeyRecord(*rows[0]) if rows else None


def enter(sees: str) -> Call[None]:
    """Limit the rest of a transaction to a tenant's rows."""
    return function("enter", sees, read=nothing)


def look_briefly(sees: str) -> Call[None]:
    """Let the rest of a transaction see a tenant's rows, write nothing, and take three seconds a statement at most."""
    return statement("look_briefly", nothing, sees=sees)


def begin_request(tenant: str | None, key: str, digest: bytes) -> Call[KeptAnswer | None]:
    """Ask whether this request was answered before; if not, its answer is to be kept in this transaction."""
    return function("begin_request", tenant or "", key, digest, read=_read_kept)


def _read_kept(rows: list[Row]) -> KeptAnswer | None:
    return KeptAnswer(*rows[0]) if rows else None


def keep_answer(tenant: str | None, key: str, status: int, answer: str) -> Call[None]:
    """Keep the answer of the request that this transaction began."""
    return function("keep_answer", tenant or "", key, status, answer, read=nothing)


def record_action(
    principal: Principal,
    address: str | None,
    action: str,
    target: str | None,
    reason: str | None,
    data: Mapping[str, Any] | None,
) -> Call[None]:
    """Write down who did what."""
    return function(
        "record_action", principal.name, address, action, target, principal.tenant, reason,
        None if data is None else json.dumps(data), read=nothing, types=("", "", "", "", "", "", "jsonb"),
    )  # fmt: skip


def actions(tenant: str | None, target: str | None, before: int | None, limit: int) -> Call[list[Action]]:
    """List what was done, newest first."""
    return query(
        "actions", lambda rows: [Action(*row) for row in rows],
        tenant=tenant, target=target, before=before, limit=limit,
    )  # fmt: skip


def was_revealed(job_id: str, actor: str, within: timedelta) -> Call[bool]:
    """Ask whether somebody has lately written down that they look at a job's payload."""
    return query("was_revealed", single, target=job_id, actor=actor, within=within)


def database_clock() -> Call[datetime]:
    """Ask what time it is where it counts."""
    return query("clock", single)
