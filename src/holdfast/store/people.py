"""People, their sessions, and tries to log in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from holdfast.domain.access import Cookie, Principal
from holdfast.domain.people import Bucket, Person
from holdfast.store.call import Call, Row, function, nothing, single


@dataclass(frozen=True, slots=True)
class Known:
    """What is needed to let a person in."""

    password: str = field(repr=False)
    is_known_device: bool


def create_person(name: str, password: str, role: str, tenant: str | None, actor: str) -> Call[None]:
    """Store a person with the hash of a password."""
    return function("create_person", name, password, role, tenant, actor, read=nothing)


def set_role(name: str, role: str, tenant: str | None) -> Call[None]:
    """Give a person another role, and bind them to a tenant or to none."""
    return function("set_role", name, role, tenant, read=nothing)


def set_password(name: str, password: str) -> Call[None]:
    """Give a person another password and end their sessions."""
    return function("set_password", name, password, read=nothing)


def disable_person(name: str) -> Call[bool]:
    """Let a person in no more and end their sessions; answers whether they were enabled."""
    return function("disable_person", name, read=single)


def enable_person(name: str) -> Call[bool]:
    """Let a person in again; answers whether they were disabled."""
    return function("enable_person", name, read=single)


def list_people() -> Call[list[Person]]:
    """List everybody by name."""
    return function("list_people", read=lambda rows: [Person(*row) for row in rows])


def has_callers() -> Call[bool]:
    """Ask whether there is a key or a person that could get in."""
    return function("has_callers", read=single)


def find_person(name: str, device: Cookie | None) -> Call[Known | None]:
    """Look up what is needed to let a person in."""
    digest = None if device is None else device.digest
    return function("find_person", name, digest, read=lambda rows: Known(*rows[0]) if rows else None)


def take_tries(buckets: Sequence[Bucket]) -> Call[timedelta | None]:
    """Take a try from each bucket; answers how long to wait when there is none."""
    return function("take_tries", *_columns(buckets), read=single)


def _columns(buckets: Sequence[Bucket]) -> tuple[Any, ...]:
    return (
        [bucket.name for bucket in buckets],
        [bucket.tries for bucket in buckets],
        [bucket.period for bucket in buckets],
    )


def begin_session(
    name: str,
    known: Known,
    new_password: str | None,
    session: Cookie,
    instead_of: Cookie | None,
    device: Cookie,
    address: str | None,
    buckets: Sequence[Bucket],
) -> Call[bool]:
    """Begin a session of a person whose password was right; False when that has changed meanwhile."""
    return function(
        "begin_session", name, known.password, new_password, session.digest, None if instead_of is None else instead_of.digest,
        device.digest, address, *_columns(buckets), read=single,
    )  # fmt: skip


def find_session(session: Cookie, *, is_request: bool) -> Call[Principal | None]:
    """Look up whose session this is."""
    return function("find_session", session.digest, is_request, read=_read_principal)


def _read_principal(rows: list[Row]) -> Principal | None:
    return Principal.of_role(*rows[0]) if rows else None


def end_session(session: Cookie) -> Call[str | None]:
    """End a session; answers whose it was."""
    return function("end_session", session.digest, read=lambda rows: rows[0][0] if rows else None)
