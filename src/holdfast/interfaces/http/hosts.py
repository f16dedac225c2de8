"""Where a request says it goes to, and where a browser says it comes from."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST = re.compile(r"([a-z0-9]([a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])\.?(?::(\d{1,5}))?")
_PORTS = {"http": 80, "https": 443}


class Host(NamedTuple):
    """A name and, where it is not the usual one, a port."""

    name: str
    port: int | None

    def is_of(self, scheme: str, name: str, port: int | None) -> bool:
        """Whether an address of that scheme means this host."""
        usual = _PORTS[scheme]
        return self.name == name and (self.port or usual) == (port or usual)


def read_host(text: str) -> Host | None:
    """Understand a Host header; None when it is not one."""
    found = _HOST.fullmatch(text.strip().lower())
    return Host(found[1], int(found[3]) if found[3] else None) if found else None


def host_of(scope: Mapping[str, Any]) -> Host | None:
    """Give the host that a request names; None unless it names exactly one."""
    named = [value for key, value in scope["headers"] if key == b"host"]
    return read_host(named[0].decode("latin-1")) if len(named) == 1 else None


def is_loopback(address: str) -> bool:
    """Whether an address, or a name that always means one, can only be reached from this machine."""
    if address.lower() == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local_http(request: HTTPConnection) -> bool:
    """Whether this is plain HTTP on this machine: the only place where cookies may do without TLS."""
    host = host_of(request.scope)
    return request.scope["scheme"] == "http" and host is not None and host.name in LOOPBACK_NAMES


class Origins:
    """Tells requests of our own pages from those that other sites make browsers send."""

    def __init__(self, base_url: str | None = None) -> None:
        # A proxy may pass on another Host than the browser sees.
        self._public = _read_origin(base_url.rstrip("/")) if base_url else None

    def is_own(self, request: HTTPConnection) -> bool:
        """Whether a browser says that a page of ours made this request; silence is a no."""
        sites, origins = _told(request)
        if not sites and not origins:
            return False
        scheme = "http" if is_local_http(request) else "https"
        return sites in ([], ["same-origin"]) and self._are_ours(request, origins, {scheme})

    def is_foreign(self, request: HTTPConnection) -> bool:
        """Whether a browser says that another site made this request; silence is a no, since programs say nothing."""
        sites, origins = _told(request)
        schemes = {"https", str(request.scope["scheme"])}
        return sites not in ([], ["same-origin"], ["none"]) or not self._are_ours(request, origins, schemes)

    def _are_ours(self, request: HTTPConnection, origins: list[str], schemes: set[str]) -> bool:
        if not origins:
            return True
        given = _read_origin(origins[0]) if len(origins) == 1 else None
        if given is None:
            return False
        if given == self._public:
            return True
        host = host_of(request.scope)
        scheme, name, port = given
        return scheme in schemes and host is not None and host.is_of(scheme, name, port)


def _told(request: HTTPConnection) -> tuple[list[str], list[str]]:
    """Give what a browser says of the site and the origin that made a request.

    Pages with the referrer policy no-referrer, as ours have, send their own forms with `Origin: null`; a browser that says so
    and that the site is the same has not contradicted itself.
    """
    sites, origins = (request.headers.getlist(header) for header in ("sec-fetch-site", "origin"))
    return sites, [] if sites == ["same-origin"] and origins == ["null"] else origins


def _read_origin(text: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host = read_host(parts.netloc)
    if parts.scheme not in _PORTS or host is None:
        return None
    return parts.scheme, host.name, port
