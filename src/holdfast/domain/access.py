"""Who may do what: scopes, roles, and keys that say who comes."""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.domain.errors import Configuration


class Scope(StrEnum):
    """What a caller may do."""

    ENQUEUE = "enqueue"
    READ = "read"
    OPERATE = "operate"
    APPROVE = "approve"
    ADMIN = "admin"


class Role(StrEnum):
    """What a person is to the system."""

    VIEWER = "viewer"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"


SCOPES_OF: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.APPROVER: frozenset({Scope.READ, Scope.APPROVE}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.ENQUEUE, Scope.OPERATE, Scope.APPROVE}),
    Role.ADMIN: frozenset(Scope),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request, as the audit will name them."""

    name: str
    scopes: frozenset[Scope]
    tenant: str | None = None  # None: bound to none, reaches all
    is_program: bool = False  # reads what jobs work with; people who only look say why first
    says_why_first: bool = False  # and here all people do, whatever their role

    def __post_init__(self) -> None:
        """Refuse what would say "all of them" to the database."""
        if self.tenant in {"", "*"}:
            raise Configuration(f"{self.tenant!r} is no tenant that somebody can be bound to")

    @property
    def sees(self) -> str:
        """What the database is told about whose rows this caller may touch."""
        return "*" if self.tenant is None else self.tenant

    @classmethod
    def of_role(cls, name: str, role: Role | str, tenant: str | None = None) -> "Principal":
        """Make a person: who they are, and what their role lets them do."""
        return cls(name, SCOPES_OF[Role(role)], tenant)

    @property
    def sees_payloads(self) -> bool:
        """Whether the caller is shown what jobs work with: payloads, results, metadata, values of steps."""
        return self.is_program or self.may(Scope.OPERATE)

    @property
    def sees_payloads_of_jobs(self) -> bool:
        """Whether the caller is shown what jobs work with, without saying why first."""
        return self.sees_payloads and (self.is_program or not self.says_why_first)

    def may(self, scope: Scope) -> bool:
        """Whether the caller has a scope; admin has them all."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


KEY_PREFIX = "hfk"
_KEY = re.compile(r"hfk_([A-Za-z0-9]{12})_([A-Za-z0-9]{43})")


@dataclass(frozen=True, slots=True)
class KeyParts:
    """A key as it was shown: a public id to find it by, and a secret that only its digest is kept of."""

    id: str
    secret: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """What is stored of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()

    @property
    def written(self) -> str:
        """The whole key; by this name only, so that no log line or message has it by accident."""
        return f"{KEY_PREFIX}_{self.id}_{self.secret}"

    def matches(self, digest: bytes) -> bool:
        """Whether this is the secret of that digest, told in constant time."""
        return hmac.compare_digest(self.digest, digest)


def read_key(text: str) -> KeyParts | None:
    """Take a key apart, if it is one."""
    found = _KEY.fullmatch(text)
    return KeyParts(*found.groups()) if found else None


SESSION_PREFIX = "hfs"
DEVICE_PREFIX = "hfd"
SECRET_LENGTH = 43  # of letters and digits: 256 bits
_COOKIE = re.compile(rf"(hfs|hfd)_([A-Za-z0-9]{{{SECRET_LENGTH}}})")


@dataclass(frozen=True, slots=True)
class Cookie:
    """What a browser carries: a session, or a device that somebody came from before. Its kind is part of its digest."""

    prefix: str
    secret: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """What is stored of it."""
        return hashlib.sha256(self.written.encode()).digest()

    @property
    def written(self) -> str:
        """The cookie's value."""
        return f"{self.prefix}_{self.secret}"


def read_cookie(prefix: str, text: str) -> Cookie | None:
    """Take a cookie apart, if it is one of this kind."""
    found = _COOKIE.fullmatch(text)
    return Cookie(*found.groups()) if found and found[1] == prefix else None
