"""Keys for callers of the service."""

import secrets
import string
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.domain.access import KeyParts, Scope
from holdfast.store import access

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

_LETTERS = string.ascii_letters + string.digits


def new_key() -> KeyParts:
    """Make a key: 256 bits that nobody can guess, behind an id to find it by."""
    return KeyParts(_random(12), _random(43))


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def create_key(
    app: "Holdfast",
    name: str,
    *,
    scopes: Iterable[Scope],
    tenant: str | None = None,
    expires_at: datetime | None = None,
    actor: str = "application",
) -> str:
    """Make a key and store its digest; the answer is the only place where its secret is ever seen."""
    key = new_key()
    app.link.perform_once(access.create_key(key, name, tenant, frozenset(scopes), expires_at, actor))
    return str(key)
