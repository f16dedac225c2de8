"""Serving without asking who comes: for one person's own machine, and refused wherever it could be reached from elsewhere."""

from ipaddress import ip_address

from starlette.requests import Request

from holdfast.domain.access import Principal, Scope
from holdfast.domain.errors import Configuration

NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def refuse_beyond_loopback(host: str) -> None:
    """Refuse to serve everybody on an address that others reach."""
    if host not in NAMES:
        raise Configuration(f"--no-auth serves this machine only: listen on 127.0.0.1, not on {host}")


async def whoever_is_here(request: Request) -> Principal | None:
    """Let in programs of this machine, and no page of the web: a browser would carry its requests here."""
    if not _is_loopback(request.client.host if request.client else ""):
        return None
    # A name that only resolves to this machine is how a page gets past the browser's rules (DNS rebinding).
    if request.url.hostname not in NAMES:
        return None
    if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return None
    return Principal("somebody on this machine", frozenset(Scope))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
