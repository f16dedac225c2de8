"""What surrounds every door: whose word counts about where a request came from, where it ends, which hosts are ours, and strict headers.

Pure ASGI: a stream passes through as it is.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware

from holdfast.domain.errors import Configuration
from holdfast.interfaces.http.hosts import LOOPBACK_NAMES, host_of, is_loopback, read_host
from holdfast.interfaces.http.problem import BAD_REQUEST, WRONG_HOST, Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from holdfast.interfaces.settings import Settings

Network: TypeAlias = IPv4Network | IPv6Network

STRICT = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# As ASGI has them: every answer gets them, and writing them anew each time costs more than all of the rest here.
_STRICT = [(name.lower().encode(), value.encode()) for name, value in STRICT.items()]
_STRICT_OVER_TLS = [*_STRICT, (b"strict-transport-security", b"max-age=31536000")]
LARGEST_HEADERS = 32 * 1024


class Proxies:
    """Believes X-Forwarded-For and -Proto of proxies that the operator trusts, and of nobody else."""

    def __init__(self, app: "ASGIApp", trusted: Sequence[Network]) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on as its client sent it."""
        if scope["type"] == "http" and scope["client"] is not None and self._is_trusted(scope["client"][0]):
            scope = {**scope, **self._told(scope)}
        await self._app(scope, receive, send)

    def _told(self, scope: "Scope") -> dict[str, Any]:
        headers = Headers(scope=scope)
        told: dict[str, Any] = {}
        if client := self._client(headers.getlist("x-forwarded-for")):
            told["client"] = (client, 0)
        scheme = ",".join(headers.getlist("x-forwarded-proto")).rpartition(",")[2].strip().lower()
        if scheme in {"http", "https"}:
            told["scheme"] = scheme
        return told

    def _client(self, headers: list[str]) -> str | None:
        # From the right: each proxy appends whom it heard from, and what stands before the first stranger was said by that stranger.
        for entry in reversed(",".join(headers).split(",")):
            address = _bare(entry)
            if address is None:
                return None
            if not self._is_trusted(address):
                return address
        return None

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted if network.version == found.version)


def _bare(entry: str) -> str | None:
    """Read an address that may have a port; None when it is none."""
    text = entry.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None


class Framing:
    """Refuses requests that another reader could end elsewhere than we do, or whose headers are larger than anybody needs.

    A length beside chunks is allowed by HTTP and ignored; whoever stands before us may believe it, and then what is a body
    to one is somebody's next request to the other.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass on what can be read in one way."""
        if scope["type"] == "http" and (wrong := _framing_problem(scope)) is not None:
            refusal = Refusal(BAD_REQUEST, wrong, headers={"Connection": "close"})
            await refusal.response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _framing_problem(scope: "Scope") -> str | None:
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        return "a request has a length or chunks, not both"
    if scope["http_version"] not in {"1.0", "1.1", "2", "3"}:
        return "this version of HTTP is not spoken here"
    if names.count(b"host") > 1 or (scope["http_version"] == "1.1" and b"host" not in names):
        return "a request names one host"
    if sum(len(name) + len(value) for name, value in headers) > LARGEST_HEADERS:
        return f"the headers have more than {LARGEST_HEADERS:,} bytes"
    return None


class Hosts:
    """Refuses requests for hosts that are not ours: a name that somebody else points at us is somebody else's page."""

    def __init__(self, app: "ASGIApp", allowed: frozenset[str], takes_own_address: bool) -> None:
        self._app = app
        self._allowed = allowed
        self._takes_own_address = takes_own_address

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass on what is for us."""
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            await refusal.response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: "Scope") -> Refusal | None:
        host = host_of(scope)
        if host is None:
            return Refusal(BAD_REQUEST, "a request names one host")
        if host.name in self._allowed or (self._takes_own_address and host.name == _own_address(scope)):
            return None
        return Refusal(WRONG_HOST, "HOLDFAST_ALLOWED_HOSTS and HOLDFAST_BASE_URL say which are")


def _own_address(scope: "Scope") -> str | None:
    """Give the address that a connection came in at: probes name it, and no browser can be led to it by name."""
    server = scope.get("server")
    address = _bare(server[0]) if server else None
    return f"[{address}]" if address is not None and ":" in address else address


class StrictHeaders:
    """Adds the headers that make browsers careful, where an answer does not say otherwise itself."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on, and its answer back with the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = host_of(scope)
        is_public_tls = scope["scheme"] == "https" and not (host is not None and is_loopback(host.name))

        async def strictly(message: "Message") -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                wanted = _STRICT_OVER_TLS if is_public_tls else _STRICT
                message["headers"] = [*message["headers"], *(one for one in wanted if one[0] not in said)]
            await send(message)

        await self._app(scope, receive, strictly)


def guards(settings: "Settings", *, auth: bool) -> list[Middleware]:
    """Make what surrounds the doors, the outermost first."""
    trusted = trusted_proxies(settings) if auth else []
    made = [Middleware(Proxies, trusted=trusted)] if trusted else []
    made += [Middleware(StrictHeaders), Middleware(Framing)]
    allowed = allowed_hosts(settings)
    if not auth:
        made.append(Middleware(Hosts, allowed=LOOPBACK_NAMES, takes_own_address=False))
    elif allowed:
        made.append(Middleware(Hosts, allowed=allowed | LOOPBACK_NAMES, takes_own_address=True))
    return made


def allowed_hosts(settings: "Settings") -> frozenset[str]:
    """Give the hosts that the operator names, and the one of the base URL; none when nobody has named any."""
    named = _listed(settings.text("allowed_hosts"))
    if not named:
        return frozenset()
    base = settings.text("base_url")
    return frozenset(_name(text) for text in [*named, *([urlsplit(base).netloc] if base else [])])


def _name(text: str) -> str:
    host = read_host(text)
    if host is None:
        raise Configuration(f"allowed_hosts: {text!r} is no host; write names such as jobs.example.com")
    return host.name


def trusted_proxies(settings: "Settings") -> list[Network]:
    """Give the networks whose proxies are believed."""
    try:
        return [ip_network(text) for text in _listed(settings.text("trusted_proxies"))]
    except ValueError as error:
        raise Configuration(
            f"trusted_proxies: {error}; write addresses or networks such as 10.0.0.0/8"
        ) from None


def _listed(text: str | None) -> Iterable[str]:
    return [part for part in (part.strip() for part in (text or "").split(",")) if part]
