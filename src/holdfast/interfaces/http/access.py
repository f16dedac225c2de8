"""Who comes: whoever the host application says, a key in the Authorization header, or a person's session."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import HTTPConnection, Request

from holdfast.domain.access import SESSION_PREFIX, Principal, Scope, read_key
from holdfast.domain.errors import Configuration
from holdfast.interfaces.http.cookies import find_cookie
from holdfast.interfaces.http.hosts import SAFE_METHODS, Origins, is_local_http, is_loopback
from holdfast.interfaces.http.problem import FORBIDDEN, TOO_MANY, Refusal
from holdfast.interfaces.http.rates import Rates
from holdfast.store.access import find_key, use_key
from holdfast.store.people import find_session

if TYPE_CHECKING:
    from holdfast.interfaces.settings import Settings
    from holdfast.runtime.app import Holdfast

Authenticate: TypeAlias = Callable[[Request], Awaitable[Principal | None]]

# Who everybody is where nobody is asked: on this machine, and nowhere else.
ANYBODY = Principal("anybody on this machine", frozenset(Scope))
_BEARER = "bearer "
_OF_KEYS = "key:"
# What a stranger's secret is compared with: an unknown id costs what a wrong secret costs.
_NOBODYS_DIGEST = bytes(32)
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Access:
    """Finds out who makes a request, and whether they make too many."""

    def __init__(
        self,
        app: "Holdfast",
        authenticate: Authenticate | None = None,
        *,
        settings: "Settings | None" = None,
        auth: bool = True,
    ) -> None:
        self._app = app
        self._authenticate = authenticate
        self._asks = auth
        self.origins = Origins(settings.text("base_url") if settings else None)
        self._rates = Rates(settings.number("rate_limit", 0) if settings else 0)

    async def principal(self, request: Request, *, is_request: bool = True) -> Principal | None:
        """Say who makes this request; None is nobody.

        Looking again at a request that goes on, as streams do, is no request: it does not keep a session alive.
        """
        if not self._asks:
            return self._anybody(request)
        if self._authenticate is not None and (found := await self._authenticate(request)) is not None:
            return self._of_host(request, found)
        given = request.headers.get("authorization", "")
        if given.lower().startswith(_BEARER):
            return await self._by_key(given[len(_BEARER) :])  # a wrong key is not helped out by a session
        return await self._by_session(request, is_request=is_request)

    def spend(self, principal: Principal) -> None:
        """Count a request of somebody, or refuse it."""
        wait = self._rates.take((principal.name, principal.tenant))
        if wait is not None:
            raise Refusal(TOO_MANY, headers={"Retry-After": str(wait)})

    def require_own_page(self, request: HTTPConnection) -> None:
        """Refuse what another site made a browser send with a person's cookie."""
        if not self.origins.is_own(request):
            raise Refusal(FORBIDDEN, "this must come from a page of this server")

    async def _by_key(self, text: str) -> Principal | None:
        key = read_key(text.strip())
        if key is None:
            return None
        stored = await self._app.link.aperform(find_key(key.id))
        matches = key.matches(stored.digest if stored else _NOBODYS_DIGEST)
        if stored is None or not matches:
            return None
        if stored.is_long_unused:
            await self._app.link.aperform(use_key(key.id))
        return stored.principal

    async def _by_session(self, request: Request, *, is_request: bool) -> Principal | None:
        session = find_cookie(request, SESSION_PREFIX)
        if session is None:
            return None
        found = await self._app.link.aperform(find_session(session, is_request=is_request))
        if found is not None and request.method not in SAFE_METHODS:
            self.require_own_page(request)
        return found

    def _of_host(self, request: Request, found: object) -> Principal:
        if not isinstance(found, Principal):
            raise Configuration(f"authenticate answers a Principal or None, not {type(found).__name__}")
        if found.name.startswith(_OF_KEYS):
            raise Configuration("authenticate names somebody key:…, which is how keys are named in the audit")
        # The host may know its users by a cookie. No other site can make a browser send a bearer token.
        is_bearer = request.headers.get("authorization", "").lower().startswith(_BEARER)
        if request.method not in SAFE_METHODS and not is_bearer and self.origins.is_foreign(request):
            raise Refusal(FORBIDDEN, "another site made your browser send this")
        return found

    def _anybody(self, request: Request) -> Principal | None:
        # Any site can make a browser on this machine ask us, and a proxy on this machine speaks for the whole world.
        is_here = request.client is not None and is_loopback(request.client.host) and is_local_http(request)
        is_passed_on = any(header in request.headers for header in _FORWARDED)
        return None if not is_here or is_passed_on or self.origins.is_foreign(request) else ANYBODY
