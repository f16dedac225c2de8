"""Signatures of callbacks: keys derived from one secret an executor holds, in the layout of Standard Webhooks.

Pure: no clock, no environment. A POSIX shell derives the same with openssl (integrations/github/holdfast-callback.sh).
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.domain.callback import Token
from holdfast.domain.errors import Configuration
from holdfast.domain.guessable import is_guessable

SHORTEST_SECRET = 32
TOLERANCE = 300.0

_PREFIX = "hfx_"  # for secret scanners: an executor's secret is told from all other keys by its beginning
_ATTEMPT_LABEL = "holdfast callback v1"
_FEWEST_DISTINCT = 8
_MOST_SIGNATURES = 8
_LONGEST_NONCE = 200
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class SignedHeaders:
    """The three headers of Standard Webhooks, as they came."""

    nonce: str | None
    timestamp: str | None
    signatures: str | None


def weakness(secret: str, shortest: int = SHORTEST_SECRET) -> str | None:
    """Say why a secret is too weak to sign or to derive with; None when it is not."""
    if len(secret.encode()) < shortest:
        return f"it has {len(secret.encode())} bytes; at least {shortest} are needed"
    if len(set(secret)) < _FEWEST_DISTINCT:
        return "it repeats a few characters: it is a placeholder, not a secret"
    if is_guessable(secret):
        return "it is a default or a placeholder that others have too, not a secret"
    return None


def refuse_weak(what: str, secret: str) -> str:
    """Give the secret back, or say how to make a better one."""
    why = weakness(secret)
    if why is not None:
        raise Configuration(f"{what} is too weak: {why}; make one with: openssl rand -hex 32")
    return secret


def executor_secret(master_key: str, executor: str) -> str:
    """Derive the secret of one executor (HKDF-SHA256): installed once in its CI system, it tells nothing about the others."""
    derived = _hkdf(master_key.encode(), b"holdfast executor " + executor.encode())
    return _PREFIX + derived.hex()


def _hkdf(key: bytes, info: bytes) -> bytes:
    # RFC 5869 with an empty salt and one block of output.
    pseudo_random = hmac.digest(bytes(_DIGEST), key, "sha256")
    return hmac.digest(pseudo_random, info + b"\x01", "sha256")


def attempt_key(secret: str, token: Token) -> bytes:
    """Derive the key that speaks for one attempt; each part is preceded by its length, so that no two tokens share a message."""
    parts = (_ATTEMPT_LABEL, str(token.job_id), str(token.attempt), str(token.claim_id))
    return hmac.digest(secret.encode(), "".join(f"{len(part)}:{part}" for part in parts).encode(), "sha256")


def sign(secret: str, token: Token, nonce: str, timestamp: int, body: bytes) -> str:
    """Sign a callback as the script does."""
    return (
        "v1," + base64.b64encode(_signature(attempt_key(secret, token), nonce, str(timestamp), body)).decode()
    )


def _signature(key: bytes, nonce: str, timestamp: str, body: bytes) -> bytes:
    return hmac.digest(key, nonce.encode() + b"." + timestamp.encode() + b"." + body, "sha256")


def verify(secrets: Sequence[str], token: Token, headers: SignedHeaders, body: bytes, now: float) -> bool:
    """Whether one of the executor's secrets signed this for this attempt, a moment ago.

    Every secret is tried against every signature, whatever the headers say: the time it takes tells nothing.
    """
    nonce, timestamp = headers.nonce or "", headers.timestamp or ""
    given = _given(headers.signatures or "")
    matched = False
    for secret in secrets:
        expected = _signature(attempt_key(secret, token), nonce, timestamp, body)
        for signature in given:
            matched |= hmac.compare_digest(expected, signature)
    return matched and _is_nonce(nonce) and _is_recent(timestamp, now)


def _given(header: str) -> list[bytes]:
    """Read the v1 signatures of a space-separated list, and ignore other schemes; always at least one, to compare with."""
    found = []
    for part in header.split(" ")[:_MOST_SIGNATURES]:
        scheme, _, text = part.partition(",")
        if scheme == "v1":
            found.append(_decoded(text))
    return found or [bytes(_DIGEST)]


def _decoded(text: str) -> bytes:
    """Read a signature in its one spelling: base64 leaves bits over at its end, and with others set it would be read as the same."""
    try:
        digest = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:  # not base64, or not ASCII
        return bytes(_DIGEST)
    is_whole = len(digest) == _DIGEST and base64.b64encode(digest).decode() == text
    return digest if is_whole else bytes(_DIGEST)


def _is_nonce(nonce: str) -> bool:
    return 0 < len(nonce) <= _LONGEST_NONCE and nonce.isascii() and nonce.isprintable() and "." not in nonce


def _is_recent(timestamp: str, now: float) -> bool:
    if not (timestamp.isascii() and timestamp.isdecimal()) or len(timestamp) > len("9999999999"):
        return False
    return abs(int(timestamp) - now) <= TOLERANCE


def verify_plain(secrets: Iterable[str], signature: str, body: bytes) -> bool:
    """Whether X-Signature is the hex HMAC of the body alone. It says neither when nor for which attempt: older workflows only."""
    try:
        given = bytes.fromhex(signature)
    except ValueError:
        given = b""
    if len(given) != _DIGEST:
        given = bytes(_DIGEST)
    matched = False
    for secret in secrets:
        matched |= hmac.compare_digest(hmac.digest(secret.encode(), body, "sha256"), given)
    return matched
