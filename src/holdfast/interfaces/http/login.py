"""/login, /logout and /enter: plain forms, read within limits, answered with a cookie or with the same words to everybody."""

import math
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias, assert_never

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.access import DEVICE_PREFIX, SESSION_PREFIX
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.address import prefix
from holdfast.interfaces.http.cookies import find_cookie, forget_session, keep_cookie
from holdfast.interfaces.http.forms import read_form
from holdfast.interfaces.http.html import headers, pages
from holdfast.interfaces.http.login_links import PATH, LoginLinks
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.runtime.sessions import Arrival, LoggedIn, Refused, Sessions, TooManyTries

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

Answering: TypeAlias = Callable[[Request], Awaitable[Response]]

_FIELDS = frozenset({"name", "password", "next"})
_LINK_FIELDS = frozenset({"code"})
_HTML = headers("style-src 'self'; form-action 'self'")
_LINK_HTML = headers("script-src 'self'; style-src 'self'; form-action 'self'")
_WRONG = "Name or password is wrong."
_LONGEST_NAME = 200  # of a person; more is nobody's
_TOO_MANY = "Too many tries. Wait a while, then try again."


class Door:
    """Where people log in and out."""

    def __init__(self, app: "Holdfast", access: Access, links: LoginLinks | None = None) -> None:
        self._access = access
        self._sessions = Sessions(app)
        self._links = links or LoginLinks()

    async def show(self, request: Request) -> Response:
        """Show the form."""
        return _page(request, next_path(request.query_params.get("next")))

    async def log_in(self, request: Request) -> Response:
        """Let somebody in, or not."""
        self._access.require_own_page(request)
        form = await read_form(request, _FIELDS)
        next_to = next_path(form.get("next"))
        name = form.get("name", "")
        match await self._sessions.log_in(_arrival(request, name), form.get("password", "")):
            case LoggedIn() as made:
                return _inside(request, made, next_to)
            case Refused():
                return _page(request, next_to, HTTPStatus.UNAUTHORIZED, _WRONG, name=name)
            case TooManyTries() as turned_away:
                wait = {"Retry-After": str(math.ceil(turned_away.wait.total_seconds()))}
                return _page(request, next_to, HTTPStatus.TOO_MANY_REQUESTS, _TOO_MANY, wait, name=name)
            case other:
                assert_never(other)

    async def show_link(self, _request: Request) -> Response:
        """Show the form that a link's own page sends by itself; looking uses nothing up."""
        return _link_page()

    async def log_in_by_link(self, request: Request) -> Response:
        """Let somebody in whose link has not been used."""
        self._access.require_own_page(request)
        person = self._links.take((await read_form(request, _LINK_FIELDS)).get("code", ""))
        made = Refused() if person is None else await self._sessions.let_in(_arrival(request, person))
        return _inside(request, made, "/") if isinstance(made, LoggedIn) else _link_page(refused=True)

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        self._access.require_own_page(request)
        session = find_cookie(request, SESSION_PREFIX)
        if session is not None:
            await self._sessions.log_out(session, request.client.host if request.client else None)
        there = RedirectResponse(_within(request, "/login"), HTTPStatus.SEE_OTHER)
        forget_session(request, there)
        return there


def _arrival(request: Request, name: str) -> Arrival:
    address = request.client.host if request.client else None
    return Arrival(
        name, address, find_cookie(request, SESSION_PREFIX), find_cookie(request, DEVICE_PREFIX)
    )  # fmt: skip


def _inside(request: Request, made: LoggedIn, next_to: str) -> Response:
    """Lead on whoever has a session now."""
    there = RedirectResponse(_within(request, next_to), HTTPStatus.SEE_OTHER, {"Cache-Control": "no-store"})
    keep_cookie(request, there, made.session)
    keep_cookie(request, there, made.device)
    return there


def next_path(asked: str | None) -> str:
    """Give where to go on: a path of this server, and nothing that a browser takes for another one."""
    path = asked or "/"
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if is_ours and path.isascii() and path.isprintable() and " " not in path else "/"


def _within(request: Request, path: str) -> str:
    """Put the prefix before a path, where the service is mounted under one."""
    before = prefix(request)
    return path if before and path.startswith(f"{before}/") else before + path


def _page(
    request: Request,
    next_to: str,
    status: HTTPStatus = HTTPStatus.OK,
    says: str | None = None,
    more: Mapping[str, str] | None = None,
    *,
    name: str = "",
) -> Response:
    text = pages.get_template("login.html").render(
        action=_within(request, "/login"), style=_within(request, "/login.css"), next=next_to, says=says,
        name=name[:_LONGEST_NAME],
    )  # fmt: skip
    return Response(text, status, {**_HTML, **(more or {})}, media_type="text/html")


def _link_page(*, refused: bool = False) -> Response:
    """Show one page to everybody whose link does not count, whatever is wrong with it."""
    status = HTTPStatus.NOT_FOUND if refused else HTTPStatus.OK
    text = pages.get_template("enter.html").render(refused=refused)
    return Response(text, status, _LINK_HTML, media_type="text/html")


def login(app: "Holdfast", access: Access, links: LoginLinks | None = None) -> list[BaseRoute]:
    """Make the routes; without links there is no door for them."""
    door = Door(app, access, links)
    made: list[BaseRoute] = [
        _route("/login", show=door.show, act=door.log_in),
        _route("/logout", act=door.log_out),
        _file("/login.css", "plain.css", "text/css"),
    ]
    if links is not None:
        made += [
            _route(PATH, show=door.show_link, act=door.log_in_by_link),
            _file(f"{PATH}.js", "enter.js", "text/javascript"),
        ]
    return made


def _route(path: str, *, act: Answering, show: Answering | None = None) -> Route:
    async def answer(request: Request) -> Response:
        answering = act if show is None or request.method == "POST" else show
        try:
            return await answering(request)
        except Refusal as refusal:
            return refusal.response
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            return refusal_of(error).response

    return Route(path, answer, methods=["POST"] if show is None else ["GET", "POST"])


def _file(path: str, name: str, kind: str) -> Route:
    text = pages.get_template(name).render()

    async def answer(_request: Request) -> Response:
        return Response(text, headers=_HTML, media_type=kind)

    return Route(path, answer)
