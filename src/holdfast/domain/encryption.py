"""Payloads that only the application can read: AES-256-GCM, bound to tenant, job and task, under keys that the database never sees.

Results, steps, checkpoints and approvals' facts are not encrypted, nor is what a schedule keeps or plain SQL enqueues.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from holdfast.domain.errors import Configuration, Undecipherable

MEMBER: Final = "$encrypted"
_BEGINNING = '{"' + MEMBER + '"'
_KEY_BYTES = 32
_FEWEST_BYTES = 8  # different ones in a key: fewer are a pattern and no key
_NAME = re.compile(r"[A-Za-z0-9._-]{1,50}")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Bond:
    """What a payload belongs to: under any other of these it cannot be read."""

    tenant: str | None
    job: UUID
    task: str

    @property
    def text(self) -> bytes:
        """All of it, with lengths, so that no part can pass for another's end."""
        parts = (b"holdfast payload", (self.tenant or "").encode(), self.job.bytes, self.task.encode())
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


class Keys:
    """The keys that payloads are encrypted with: the first is used for new ones, the others read what is there."""

    def __init__(self, keys: Mapping[str, str | bytes]) -> None:
        if not keys:
            raise Configuration("Keys needs at least one key: Keys({'2026-01': …})")
        self._keys = {name: _checked(name, key) for name, key in keys.items()}
        self.current = next(iter(self._keys))

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._keys)})"

    @classmethod
    def read(cls, text: str) -> "Keys":
        """Read keys as a secret holds them: name:base64 after name:base64, separated by commas or line breaks."""
        pairs = [one.strip().partition(":") for one in re.split(r"[,\n]", text) if one.strip()]
        return cls({name.strip(): key.strip() for name, _, key in pairs})

    def seal(self, text: str, bond: Bond) -> str:
        """Encrypt a payload; the same payload of the same job is the same text again, so that a repeat is known as one."""
        key = self._keys[self.current]
        said = text.encode()
        # Made of what it is used for: two texts under one nonce would give both away, and here they cannot meet.
        nonce = hmac.digest(_derived(key, b"nonce"), bond.text + said, hashlib.sha256)[:12]
        envelope = {
            "v": _VERSION,
            "key": self.current,
            "job": str(bond.job),
            "nonce": base64.b64encode(nonce).decode(),
            "text": base64.b64encode(_cipher(key).encrypt(nonce, said, bond.text)).decode(),
        }
        return json.dumps({MEMBER: envelope}, separators=(",", ":"))

    def open(self, envelope: Mapping[str, Any], bond: Bond) -> str:
        """Decrypt a payload, or say that it is not one of this job's."""
        if envelope.get("v") != _VERSION:
            raise Undecipherable(
                f"job {bond.job}: its payload is encrypted in a way that this release does not know"
            )
        key = self._keys.get(str(envelope.get("key")))
        if key is None:
            raise Undecipherable(
                f"job {bond.job}: its payload is encrypted with the key {envelope.get('key')!r}, which is not here"
            )
        try:
            nonce, text = (base64.b64decode(envelope[name], validate=True) for name in ("nonce", "text"))
            opened: bytes = _cipher(key).decrypt(nonce, text, bond.text)
        except (KeyError, TypeError, ValueError, _forgery()):
            raise Undecipherable(
                f"job {bond.job}: its payload was not written for this job, tenant and task"
            ) from None
        return opened.decode()


def is_sealed(text: str) -> bool:
    """Whether a stored payload is encrypted."""
    return text.startswith(_BEGINNING)


def envelope_of(text: str) -> dict[str, Any]:
    """Take an encrypted payload apart."""
    envelope = json.loads(text)[MEMBER]
    return envelope if isinstance(envelope, dict) else {}


def shown(payload: Any) -> Any:
    """Give a payload as others may see it: of an encrypted one, the name of its key."""
    if isinstance(payload, dict) and isinstance(payload.get(MEMBER), dict):
        return {MEMBER: {"key": payload[MEMBER].get("key")}}
    return payload


def _checked(name: str, key: str | bytes) -> bytes:
    if not _NAME.fullmatch(name):
        raise Configuration(
            f"an encryption key is called {name!r}: names have 1 to 50 letters, digits, . _ -"
        )
    try:
        raw = base64.b64decode(key, validate=True) if isinstance(key, str) else bytes(key)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _KEY_BYTES or len(set(raw)) < _FEWEST_BYTES:
        raise Configuration(
            f"the encryption key {name!r} must be 32 random bytes, as base64 where it is text: openssl rand -base64 32"
        )
    return raw


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, b"holdfast payload " + purpose, hashlib.sha256)


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - only who encrypts waits for it

    return AESGCM(_derived(key, b"text"))


def _forgery() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

    return InvalidTag
