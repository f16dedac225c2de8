"""/login and /logout: plain forms, read within limits, answered with a cookie or with the same words to everybody."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, assert_never

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.access import DEVICE_PREFIX, SESSION_PREFIX
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.cookies import find_cookie, forget_session, keep_cookie
from holdfast.interfaces.http.forms import read_form
from holdfast.interfaces.http.html import headers
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.runtime.sessions import Arrival, LoggedIn, Refused, Sessions, TooManyTries

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

_FIELDS = frozenset({"name", "password", "next"})
_HTML = headers("style-src 'self'; form-action 'self'")
_WRONG = "Name or password is wrong."
_TOO_MANY = "Too many tries. Wait a while, then try again."
_pages = Environment(loader=PackageLoader("holdfast.interfaces.http", "pages"), autoescape=True)


class Door:
    """Where people log in and out."""

    def __init__(self, app: "Holdfast", access: Access) -> None:
        self._access = access
        self._sessions = Sessions(app)

    async def show(self, request: Request) -> Response:
        """Show the form."""
        return _page(request, next_path(request.query_params.get("next")))

    async def log_in(self, request: Request) -> Response:
        """Let somebody in, or not."""
        self._access.require_own_page(request)
        form = await read_form(request, _FIELDS)
        next_to = next_path(form.get("next"))
        arrival = Arrival(
            form.get("name", ""),
            request.client.host if request.client else None,
            find_cookie(request, SESSION_PREFIX),
            find_cookie(request, DEVICE_PREFIX),
        )
        match await self._sessions.log_in(arrival, form.get("password", "")):
            case LoggedIn() as made:
                there = RedirectResponse(_within(request, next_to), HTTPStatus.SEE_OTHER)
                keep_cookie(request, there, made.session)
                keep_cookie(request, there, made.device)
                return there
            case Refused():
                return _page(request, next_to, HTTPStatus.UNAUTHORIZED, _WRONG)
            case TooManyTries() as turned_away:
                wait = {"Retry-After": str(math.ceil(turned_away.wait.total_seconds()))}
                return _page(request, next_to, HTTPStatus.TOO_MANY_REQUESTS, _TOO_MANY, wait)
            case other:
                assert_never(other)

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        self._access.require_own_page(request)
        session = find_cookie(request, SESSION_PREFIX)
        if session is not None:
            await self._sessions.log_out(session, request.client.host if request.client else None)
        there = RedirectResponse(_within(request, "/login"), HTTPStatus.SEE_OTHER)
        forget_session(request, there)
        return there


def next_path(asked: str | None) -> str:
    """Give where to go on: a path of this server, and nothing that a browser takes for another one."""
    path = asked or "/"
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if is_ours and path.isascii() and path.isprintable() and " " not in path else "/"


def _within(request: Request, path: str) -> str:
    """Put the prefix before a path, where the service is mounted under one."""
    prefix = str(request.scope.get("root_path", "")).rstrip("/")
    return path if prefix and path.startswith(f"{prefix}/") else prefix + path


def _page(
    request: Request,
    next_to: str,
    status: HTTPStatus = HTTPStatus.OK,
    says: str | None = None,
    more: Mapping[str, str] | None = None,
) -> Response:
    text = _pages.get_template("login.html").render(
        action=_within(request, "/login"), style=_within(request, "/login.css"), next=next_to, says=says
    )
    return Response(text, status, {**_HTML, **(more or {})}, media_type="text/html")


def login(app: "Holdfast", access: Access) -> list[BaseRoute]:
    """Make the routes."""
    door = Door(app, access)

    async def at_login(request: Request) -> Response:
        try:
            return await (door.log_in(request) if request.method == "POST" else door.show(request))
        except Refusal as refusal:
            return refusal.response
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            return refusal_of(error).response

    async def at_logout(request: Request) -> Response:
        try:
            return await door.log_out(request)
        except Refusal as refusal:
            return refusal.response
        except Exception as error:  # noqa: BLE001 - as above
            return refusal_of(error).response

    style = _pages.get_template("login.css").render()

    async def as_style(_request: Request) -> Response:
        return Response(style, headers=_HTML, media_type="text/css")

    return [
        Route("/login", at_login, methods=["GET", "POST"]),
        Route("/login.css", as_style),
        Route("/logout", at_logout, methods=["POST"]),
    ]
