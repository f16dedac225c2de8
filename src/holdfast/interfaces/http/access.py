"""Who comes: whoever the host application says, a key in the Authorization header, or a person's session."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import HTTPConnection, Request

from holdfast.domain.access import SESSION_PREFIX, Cookie, KeyParts, Principal, Scope, read_key
from holdfast.domain.errors import Configuration
from holdfast.domain.people import home_of
from holdfast.interfaces.http.cookies import find_cookie
from holdfast.interfaces.http.hooks import Hooks
from holdfast.interfaces.http.hosts import SAFE_METHODS, Origins, is_local_http, is_loopback
from holdfast.interfaces.http.problem import FORBIDDEN, TOO_MANY, Refusal
from holdfast.interfaces.http.rates import KnownSecrets, Rates
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
# Secrets that nobody has, a second and address: who guesses them would otherwise ask as fast as the database answers.
WRONG_A_SECOND = 5.0
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Guesses:
    """Counts, by where they come from, secrets that nobody has. Those that were right before are never held up by others' guesses."""

    def __init__(self) -> None:
        self._rates = Rates(WRONG_A_SECOND)
        self._known = KnownSecrets()

    def refuse_too_many(self, request: Request, digest: bytes) -> None:
        """Refuse to look a secret up when too many wrong ones came from there; it is looked up when it has been right."""
        if self._known.whose(digest) is None:
            _refuse_for(self._rates.wait(_home(request)))

    def count(self, request: Request, digest: bytes, found: Principal | None) -> None:
        """Learn whose a secret was; None is nobody."""
        if found is not None:
            self._known.add(digest, _caller(found))
        else:
            self._known.forget(digest)
            self._rates.charge(_home(request))

    def whose(self, digest: bytes) -> Hashable:
        """Say whose a secret was when it last came; None when it is not known."""
        return self._known.whose(digest)


def _refuse_for(seconds: int | None) -> None:
    if seconds is not None:
        raise Refusal(TOO_MANY, headers={"Retry-After": str(seconds)})


def _secret_of(request: Request) -> KeyParts | Cookie | None:
    """Read the secret that a request brings; a key of whatever kind is not helped out by a session."""
    given = request.headers.get("authorization", "")
    if given.lower().startswith(_BEARER):
        return read_key(given[len(_BEARER) :].strip())
    return find_cookie(request, SESSION_PREFIX)


def _caller(principal: Principal) -> Hashable:
    return principal.name, principal.tenant


def _home(request: Request) -> str:
    return home_of(request.client.host if request.client else None)


class Access:
    """Finds out who makes a request, and whether they make too many."""

    def __init__(
        self,
        app: "Holdfast",
        authenticate: Authenticate | None = None,
        *,
        settings: "Settings | None" = None,
        auth: bool = True,
        hooks: Hooks | None = None,
    ) -> None:
        self._app = app
        self.hooks = hooks or Hooks()
        self._hides_args = settings is not None and settings.is_on("hide_args")
        self._authenticate = authenticate
        self._asks = auth
        # What this installation is called on its pages.
        self.environment = settings.text("environment") if settings else None
        self.origins = Origins(settings.text("base_url") if settings else None)
        self._rates = Rates(settings.number("rate_limit", 0) if settings else 0)
        self._guesses = Guesses()

    async def caller(self, request: Request) -> Principal | None:
        """Say who makes this request, and count it; None is nobody, and who makes too many is refused."""
        return await self._found(request, is_request=True)

    async def again(self, request: Request) -> Principal | None:
        """Look again who makes a request that goes on, as streams do: it is not counted, and does not keep a session alive."""
        return await self._found(request, is_request=False)

    async def _found(self, request: Request, *, is_request: bool) -> Principal | None:
        principal, paid = await self._by_host(request), None
        if principal is None and self._asks and (secret := _secret_of(request)) is not None:
            if is_request and (paid := self._guesses.whose(secret.digest)) is not None:
                # Before it is looked up: others wait for the database too.
                _refuse_for(self._rates.take(paid))
            principal = await self._by_secret(request, secret, is_request=is_request)
        if is_request and principal is not None and _caller(principal) != paid:
            _refuse_for(self._rates.take(_caller(principal)))
        return replace(principal, says_why_first=True) if principal and self._hides_args else principal

    async def _by_host(self, request: Request) -> Principal | None:
        if not self._asks:
            return self._anybody(request)
        found = await self._authenticate(request) if self._authenticate is not None else None
        return self._of_host(request, found) if found is not None else None

    async def _by_secret(
        self, request: Request, secret: KeyParts | Cookie, *, is_request: bool
    ) -> Principal | None:
        if is_request:
            self._guesses.refuse_too_many(request, secret.digest)
        if isinstance(secret, KeyParts):
            found = await self._by_key(secret)
        else:
            found = await self._app.link.aperform(find_session(secret, is_request=is_request))
        self._guesses.count(request, secret.digest, found)
        if found is not None and isinstance(secret, Cookie) and request.method not in SAFE_METHODS:
            self.require_own_page(request)
        return found

    def require_own_page(self, request: HTTPConnection) -> None:
        """Refuse what another site made a browser send with a person's cookie."""
        if not self.origins.is_own(request):
            raise Refusal(FORBIDDEN, "this must come from a page of this server")

    async def _by_key(self, key: KeyParts) -> Principal | None:
        stored = await self._app.link.aperform(find_key(key.id))
        matches = key.matches(stored.digest if stored else _NOBODYS_DIGEST)
        if stored is None or not matches:
            return None
        if stored.is_long_unused:
            await self._app.link.aperform(use_key(key.id))
        return stored.principal

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
