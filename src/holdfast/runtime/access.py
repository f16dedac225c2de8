"""Keys and people, as those who run the system make, change and end them; each change is in the audit."""

import secrets
import string
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from holdfast.domain.access import SECRET_LENGTH, Cookie, KeyParts, Principal, Role, Scope
from holdfast.domain.people import refuse_weak_password, require_name
from holdfast.runtime.link import Link
from holdfast.runtime.passwords import Passwords
from holdfast.store import access, people
from holdfast.store.call import Call

T = TypeVar("T")

OVERLAP = timedelta(days=1)
_LETTERS = string.ascii_letters + string.digits
_KEY_ID_LENGTH = 12


class Linked(Protocol):
    """An app, or whatever else has a way to the database."""

    @property
    def link(self) -> Link:
        """The way."""


def new_key() -> KeyParts:
    """Make a key: 256 bits that nobody can guess, behind an id to find it by."""
    return KeyParts(_random(_KEY_ID_LENGTH), _random(SECRET_LENGTH))


def new_cookie(prefix: str) -> Cookie:
    """Make what a browser is to carry: 256 bits that nobody can guess."""
    return Cookie(prefix, _random(SECRET_LENGTH))


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def create_key(
    app: Linked,
    name: str,
    *,
    scopes: Iterable[Scope],
    tenant: str | None = None,
    expires_at: datetime | None = None,
    actor: str = "application",
) -> str:
    """Make a key and store its digest; the answer is the only place where its secret is ever seen."""
    key, granted = new_key(), frozenset(scopes)
    call = access.create_key(key, name, tenant, granted, expires_at, actor)
    _do(app, call, actor, "key.create", key.id, tenant, name=name, scopes=sorted(granted))
    return key.written


def rotate_key(
    app: Linked,
    key_id: str,
    *,
    overlap: timedelta = OVERLAP,
    expires_at: datetime | None = None,
    actor: str = "application",
) -> str:
    """Make a key like another, which counts a while longer; the answer is the only place where its secret is ever seen."""
    key = new_key()
    call = access.rotate_key(key_id, None, key, overlap, expires_at, actor)
    _do(app, call, actor, "key.rotate", key_id, new=key.id, overlap=overlap.total_seconds())
    return key.written


def revoke_key(app: Linked, key_id: str, *, reason: str | None = None, actor: str = "application") -> bool:
    """End a key at once; answers whether it counted until now."""
    return _do(app, access.revoke_key(key_id, None), actor, "key.revoke", key_id, reason=reason)


def add_person(
    app: Linked,
    name: str,
    password: str,
    *,
    role: Role = Role.VIEWER,
    tenant: str | None = None,
    actor: str = "application",
) -> str:
    """Add somebody who comes with a password; answers how they are called."""
    person = require_name(name)
    refuse_weak_password(person, password)
    call = people.create_person(person, Passwords().hashed(password), role, tenant, actor)
    _do(app, call, actor, "person.add", person, tenant, role=role)
    return person


def set_role(
    app: Linked, name: str, role: Role, *, tenant: str | None = None, actor: str = "application"
) -> None:
    """Give somebody another role, and bind them to a tenant or to none."""
    person = require_name(name)
    _do(app, people.set_role(person, role, tenant), actor, "person.role", person, tenant, role=role)


def set_password(app: Linked, name: str, password: str, *, actor: str = "application") -> None:
    """Give somebody another password; all their sessions end."""
    person = require_name(name)
    refuse_weak_password(person, password)
    _do(app, people.set_password(person, Passwords().hashed(password)), actor, "person.password", person)


def disable_person(app: Linked, name: str, *, reason: str | None = None, actor: str = "application") -> bool:
    """Let somebody in no more; all their sessions end. Answers whether they were enabled."""
    person = require_name(name)
    return _do(app, people.disable_person(person), actor, "person.disable", person, reason=reason)


def enable_person(app: Linked, name: str, *, reason: str | None = None, actor: str = "application") -> bool:
    """Let somebody in again; answers whether they were disabled."""
    person = require_name(name)
    return _do(app, people.enable_person(person), actor, "person.enable", person, reason=reason)


def _do(
    app: Linked,
    call: Call[T],
    actor: str,
    action: str,
    target: str,
    tenant: str | None = None,
    *,
    reason: str | None = None,
    **data: Any,
) -> T:
    who = Principal(actor, frozenset(Scope), tenant)
    with app.link.transaction() as transaction:
        answer = transaction.perform(call)
        transaction.perform(access.record_action(who, None, action, target, reason, data or None))
    return answer
