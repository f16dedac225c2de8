"""Who comes: a key in the Authorization header, a person's session, or whoever the host application says."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import Request

from holdfast.domain.access import Principal, read_key
from holdfast.store.access import find_key

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

Authenticate: TypeAlias = Callable[[Request], Awaitable[Principal | None]]

_BEARER = "bearer "
# What a stranger's secret is compared with: an unknown id costs what a wrong secret costs.
_NOBODYS_DIGEST = bytes(32)


class Access:
    """Finds out who makes a request."""

    def __init__(self, app: "Holdfast", authenticate: Authenticate | None = None) -> None:
        self._app = app
        self._authenticate = authenticate

    async def principal(self, request: Request) -> Principal | None:
        """Say who makes this request; None is nobody."""
        if self._authenticate is not None and (found := await self._authenticate(request)) is not None:
            return found
        given = request.headers.get("authorization", "")
        return await self._by_key(given[len(_BEARER) :]) if given.lower().startswith(_BEARER) else None

    async def _by_key(self, text: str) -> Principal | None:
        key = read_key(text.strip())
        if key is None:
            return None
        stored = await self._app.link.aperform(find_key(key.id))
        matches = key.matches(stored.digest if stored else _NOBODYS_DIGEST)
        return stored.principal if stored is not None and matches else None
