"""Outbound calls that cannot be led astray: one resolution, public addresses only, pinned, no redirects, bounded in time and size."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_network
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import SplitResult, urlsplit

from holdfast.domain.addresses import Address, Network, forbidden, read_address
from holdfast.domain.errors import Configuration, DispatchFailed, DispatchRefused

if TYPE_CHECKING:
    import httpx

ALLOW_VARIABLE = "HOLDFAST_OUTBOUND_ALLOW"
DEADLINE = 30.0
LARGEST_ANSWER = 64 * 1024

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the status, the headers by their lower-case names, and at most so much of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Allowed:
    """Hosts and networks inside that configuration opens: these may be private, and spoken to without TLS."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._hosts: set[str] = set()
        self._networks: list[Network] = []
        for entry in entries:
            self._add(entry.strip().lower())

    def _add(self, entry: str) -> None:
        if not entry:
            return
        try:
            self._networks.append(ip_network(entry))
        except ValueError:
            if "/" in entry or ":" in entry:
                raise Configuration(
                    f"{ALLOW_VARIABLE}: {entry!r} is neither a host name nor a network such as 10.1.0.0/16"
                ) from None
            self._hosts.add(entry)

    def is_host(self, host: str) -> bool:
        """Whether this host is named."""
        return host.lower() in self._hosts

    def has(self, address: Address) -> bool:
        """Whether this address lies in a network that is named."""
        return any(address.version == network.version and address in network for network in self._networks)


def allowed_by(given: Iterable[str], environment: Mapping[str, str] = os.environ) -> Allowed:
    """Read the allow list: what code gives, and what the environment adds."""
    return Allowed([*given, *environment.get(ALLOW_VARIABLE, "").split(",")])


async def _resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]


class Outbound:
    """Sends requests; raises DispatchRefused where nobody may be sent, DispatchFailed where nobody could be reached."""

    def __init__(
        self, allow: Iterable[str] = (), *, deadline: float = DEADLINE, resolve: Resolve = _resolve
    ) -> None:
        self._allow = tuple(allow)
        self._deadline = deadline
        self._resolve = resolve

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes = b"",
        largest: int = LARGEST_ANSWER,
    ) -> Reply:
        """Send one request and read its answer, all within the deadline."""
        parts = _read_url(url)
        try:
            async with asyncio.timeout(self._deadline):
                address = await self._pin(parts)
                return await _exchange(parts, address, method, headers, content, largest)
        except TimeoutError as error:
            raise DispatchFailed(
                f"{parts.hostname} did not answer within {self._deadline:g} s", is_doubtful=True
            ) from error

    async def _pin(self, parts: SplitResult) -> Address:
        """Resolve the host once and choose its first address; one forbidden address condemns them all."""
        host, allowed = parts.hostname or "", allowed_by(self._allow)
        try:
            addresses = [read_address(text) for text in await self._resolve(host, _port(parts))]
        except (OSError, ValueError) as error:
            raise DispatchFailed(f"the name {host} cannot be resolved: {error}") from error
        if not addresses:
            raise DispatchFailed(f"the name {host} has no address")
        opened = allowed.is_host(host) or all(allowed.has(address) for address in addresses)
        if opened:
            return addresses[0]
        if parts.scheme != "https":
            raise DispatchRefused(f"{host} is called without TLS: use https://, or {_how_to_allow(host)}")
        for address in addresses:
            why = None if allowed.has(address) else forbidden(address)
            if why is not None:
                raise DispatchRefused(
                    f"{host} leads to {address}, which is {why}: outbound calls stay outside; {_how_to_allow(host)}"
                )
        return addresses[0]


def _how_to_allow(host: str) -> str:
    return f"if it is yours, name it in {ALLOW_VARIABLE}={host}"


def _read_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError as error:
        raise DispatchRefused(f"the address {url[:100]!r} cannot be understood") from error
    if parts.scheme not in {"https", "http"} or not parts.hostname or not has_port:
        raise DispatchRefused(f"the address {url[:100]!r} is not https://host/…")
    if parts.username is not None or parts.password is not None:
        raise DispatchRefused(f"the address of {parts.hostname} carries a password: give it in a header")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


async def _exchange(
    parts: SplitResult,
    address: Address,
    method: str,
    headers: Mapping[str, str],
    content: bytes,
    largest: int,
) -> Reply:
    try:
        import httpx  # noqa: PLC0415 - an extra: only who calls executors needs it
    except ImportError as error:
        raise DispatchRefused("calling executors needs httpx: pip install 'holdfast[outside]'") from error

    pinned = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 - IPv6
    target = parts._replace(netloc=f"{pinned}:{_port(parts)}", fragment="").geturl()
    # Nothing of the environment: a proxy variable would take the call elsewhere, .netrc would add a password.
    client = httpx.AsyncClient(verify=_tls(), trust_env=False, follow_redirects=False, timeout=None)  # noqa: S113 - the caller's deadline holds # nosec B113
    try:
        async with client:
            request = client.build_request(
                method,
                target,
                headers={"Accept-Encoding": "identity", **headers, "Host": parts.netloc},
                content=content,
                extensions={"sni_hostname": parts.hostname},
            )
            answer = await client.send(request, stream=True)
            try:
                return Reply(answer.status_code, dict(answer.headers), await _body(answer, largest))
            finally:
                await answer.aclose()
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise DispatchFailed(f"{parts.hostname} cannot be reached: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DispatchFailed(
            f"the connection to {parts.hostname} broke: {type(error).__name__}", is_doubtful=True
        ) from error


@cache
def _tls() -> ssl.SSLContext:
    # Once a process: it reads all certificates of the world, for which everything else in this event loop would wait every time.
    import httpx  # noqa: PLC0415 - as above

    return httpx.create_ssl_context(trust_env=False)


async def _body(answer: "httpx.Response", largest: int) -> bytes:
    """Read what was sent, not what it unpacks to, up to the limit; the rest is nobody's business."""
    read = bytearray()
    async for some in answer.aiter_raw():
        read += some
        if len(read) > largest:
            break
    return bytes(read[:largest])
