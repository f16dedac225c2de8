"""Links to invoices: signed for one booking and for 72 hours (JWT, HS256)."""

import base64
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta

from apps.booking_side_effects.settings import Settings

LIFETIME = timedelta(hours=72)
_HEADER = {"alg": "HS256", "typ": "JWT"}


def pdf_link(settings: Settings, booking_id: int, now: datetime) -> str:
    """Write the link that opens a booking's invoice from now on."""
    token = sign(settings.link_secret, booking_id, now + LIFETIME)
    return f"{settings.public_url}/api/invoices/{booking_id}/pdf?t={token}"


def sign(secret: str, booking_id: int, expires_at: datetime) -> str:
    """Make the token for a booking."""
    claims = {"sub": f"invoice:{booking_id}", "exp": int(expires_at.timestamp())}
    signed = f"{_encoded(_HEADER)}.{_encoded(claims)}"
    return f"{signed}.{_proof(secret, signed)}"


def opens(secret: str, token: str, booking_id: int, now: datetime) -> bool:
    """Whether a token is ours, of this very booking, and not expired."""
    signed, _, proof = token.rpartition(".")
    header, _, claims = signed.partition(".")
    # The header is compared, not read: whoever could choose the algorithm could choose none.
    if header != _encoded(_HEADER) or not hmac.compare_digest(
        proof.encode(), _proof(secret, signed).encode()
    ):
        return False
    told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return bool(told["sub"] == f"invoice:{booking_id}" and now.timestamp() < told["exp"])


def _encoded(part: Mapping[str, object]) -> str:
    return _base64(json.dumps(part, separators=(",", ":")).encode())


def _proof(secret: str, signed: str) -> str:
    return _base64(hmac.digest(secret.encode(), signed.encode(), "sha256"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
