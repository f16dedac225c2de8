"""The dashboard: pages for people, rendered here, alive in the browser, and made of nothing that the API does not have."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from holdfast.domain.access import Principal
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.address import here, parts, prefix, query_without
from holdfast.interfaces.http.button import Button
from holdfast.interfaces.http.dashboard import statics
from holdfast.interfaces.http.dashboard.approvals import number_waiting
from holdfast.interfaces.http.dashboard.buttons import actions_of
from holdfast.interfaces.http.dashboard.look import Window
from holdfast.interfaces.http.dashboard.narrowing import is_narrowed, label_of, narrowed
from holdfast.interfaces.http.dashboard.navigation import ENTRIES
from holdfast.interfaces.http.dashboard.own_panels import with_panels
from holdfast.interfaces.http.dashboard.page import (
    Action,
    Asked,
    Done,
    Download,
    NothingDone,
    Page,
    Panel,
    Section,
    Shown,
    panel_address,
    read_panels,
)
from holdfast.interfaces.http.dashboard.pulse import Pulse
from holdfast.interfaces.http.dashboard.rendering import environment
from holdfast.interfaces.http.dashboard.sections import SECTIONS
from holdfast.interfaces.http.forms import read_form
from holdfast.interfaces.http.html import headers
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.interfaces.http.streaming import Stream
from holdfast.runtime.live import Full

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

_HEADERS = headers(
    "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; manifest-src 'self'"
)
_SAID = "holdfast-said"
_LONGEST_SAID = 300


class Dashboard:
    """All pages of an app."""

    def __init__(self, app: "Holdfast", access: Access, buttons: Sequence[Button] = ()) -> None:
        self._access = access
        self._buttons = buttons
        self._window = Window(app, access.hooks)
        self._pulse = Pulse(self._window.link)
        self._templates = environment()

    # -- pages -------------------------------------------------------------------------------------------------------------

    async def show(self, request: Request, page: Page) -> Response:
        """Answer with a page, or with the one panel of it that was asked for."""
        principal = await self._principal(request)
        if principal is None:
            return _to_login(request)
        asked = _read(page.asked, _query(request))
        wanted = request.query_params.get("panel")
        if wanted is not None:
            for panel in page.panels:
                if panel.name == wanted:
                    return self._html(await self._panel(request, principal, page, panel, asked))
            raise Refusal(problems.NOT_FOUND)

        async def read(panel: Panel) -> str:
            return await self._panel(request, principal, page, panel, asked)

        panels, waiting = await asyncio.gather(
            read_panels(page.panels, read), self._waiting(request, principal)
        )
        frame = {**self._frame(request, principal), "waiting": waiting}
        text = self._templates.get_template(f"{page.name}.html").render(
            **frame, page=page, panels=panels, asked=asked, **parts(request)
        )
        answer = self._html(text)
        answer.delete_cookie(_SAID, path=prefix(request) + "/")
        return answer

    async def _panel(
        self, request: Request, principal: Principal, page: Page, panel: Panel, asked: Asked
    ) -> str:
        """Render a panel; whatever goes wrong in it stays in it."""
        frame = {
            **self._frame(request, principal),
            "page": page,
            "panel": panel,
            "asked": asked,
            **parts(request),
        }
        query = {key: value for key, value in _query(request).items() if key != "panel"}
        frame["address"] = panel_address(prefix(request) + here(request), query, panel)
        try:
            async with self._window.looking(request, principal) as look:
                values = await panel.read(look, asked, parts(request))
            return self._templates.get_template(panel.template).render({**frame, **values})
        except Exception as error:  # noqa: BLE001 - one panel fails alone
            refusal = error if isinstance(error, Refusal) else refusal_of(error)
            # What a page is about is what its first panel shows.
            if refusal.type is problems.NOT_FOUND and panel is page.panels[0]:
                raise refusal from None
            return self._templates.get_template("panels/failed.html").render(**frame, refusal=refusal)

    async def _waiting(self, request: Request, principal: Principal) -> int | None:
        """Count what waits for this person; a page is shown without the number when it cannot be had."""
        try:
            async with self._window.looking(request, principal) as look:
                return await number_waiting(look)
        except Exception as error:  # noqa: BLE001 - as with panels
            refusal_of(error)  # it logs
            return None

    # -- files -------------------------------------------------------------------------------------------------------------

    async def give(self, request: Request, download: Download) -> Response:
        """Answer with a file to keep."""
        principal = await self._principal(request)
        if principal is None:
            return _to_login(request)
        asked = _read(download.asked, dict(request.query_params))
        async with self._window.looking(request, principal) as look:
            made = await download.makes(look=look, asked=asked, **parts(request))
        return Response(
            made.text,
            headers={
                **_HEADERS,
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(made.name, safe='')}",
            },
            media_type=made.kind,
        )

    # -- forms -------------------------------------------------------------------------------------------------------------

    async def act(self, request: Request, action: Action) -> Response:
        """Do what a form asks for, and lead back with a sentence that says so."""
        principal = await self._principal(request)
        if principal is None:
            return _to_login(request)
        self._access.require_own_page(request)
        form = _read(action.form, await read_form(request, set(action.form.model_fields)))
        try:
            async with self._window.acting(request, principal) as look:
                done: Done | Shown = await action.acts(look=look, form=form, **parts(request))
        except NothingDone as nothing:
            done = nothing.done
        except Refusal as refusal:
            done = Done(_said(refusal), _back(request))
        except Exception as error:  # noqa: BLE001 - a person is told in words
            done = Done(_said(refusal_of(error)), _back(request))
        if isinstance(done, Shown):
            return await self._shown(request, principal, done)
        there = RedirectResponse(prefix(request) + done.to, HTTPStatus.SEE_OTHER)
        _keep(request, there, _SAID, done.says[:_LONGEST_SAID], 60)
        if done.keeps is not None:
            _keep(request, there, done.keeps.name, done.keeps.value or "", None if done.keeps.value else 0)
        return there

    async def _shown(self, request: Request, principal: Principal, shown: Shown) -> Response:
        frame = {**self._frame(request, principal), "waiting": await self._waiting(request, principal)}
        template = self._templates.get_template(f"{shown.page.name}.html")
        return self._html(template.render(**frame, page=shown.page, panels={}, **shown.values))

    # -- live --------------------------------------------------------------------------------------------------------------

    async def live(self, scope: Any, receive: Any, send: Any) -> None:
        """Tell a browser what changes."""
        request = Request(scope, receive)
        try:
            principal = await self._access.caller(request)
        except Refusal as refusal:
            await refusal.response(scope, receive, send)
            return
        if principal is None:
            await Refusal(problems.UNAUTHORIZED).response(scope, receive, send)
            return
        try:
            with self._pulse.reader() as reader:
                await Stream(self._access, request, principal, reader, send).run()
        except Full as full:
            refused = Refusal(problems.TOO_MANY, str(full), headers={"Retry-After": "30"})
            await refused.response(scope, receive, send)

    # -- the frame ---------------------------------------------------------------------------------------------------------

    async def _principal(self, request: Request) -> Principal | None:
        principal = await self._access.caller(request)
        return None if principal is None else narrowed(request, principal)

    def _frame(self, request: Request, principal: Principal) -> dict[str, Any]:
        before = prefix(request)
        return {
            "url": lambda path: before + path,
            "static": lambda name: f"{before}/static/{statics.version()}/{name}",
            "entries": ENTRIES,
            "principal": principal,
            "query": _query(request),
            "said": unquote(request.cookies.get(_SAID, ""))[:_LONGEST_SAID],
            "missing": statics.missing(),
            "environment": label_of(self._access.environment),
            "is_narrowed": is_narrowed(request),
            "waiting": None,
            "buttons": [button for button in self._buttons if principal.may(button.scope)],
            "here": here(request),
        }

    def _html(self, text: str) -> Response:
        return Response(text, headers=_HEADERS, media_type="text/html")

    async def refused(self, request: Request, refusal: Refusal) -> Response:
        """Say on a page what cannot be shown; who comes too often is not looked up for it."""
        if refusal.type is problems.TOO_MANY:
            return refusal.response
        try:
            principal = await self._access.again(request)
        except Refusal:
            principal = None
        if principal is None:
            return refusal.response
        text = self._templates.get_template("refused.html").render(
            **self._frame(request, principal), refusal=refusal
        )
        return Response(text, refusal.type.status, _HEADERS, media_type="text/html")


def _read(model: type[Any], given: dict[str, str]) -> Any:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Refusal(problems.INVALID, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _query(request: Request) -> dict[str, str]:
    """Read what stands behind the question mark; what is there several times, as boxes to tick are, is joined by commas."""
    given = request.query_params
    return {name: ",".join(given.getlist(name)) for name in given}


def _keep(request: Request, answer: Response, name: str, value: str, seconds: int | None) -> None:
    """Give a browser something to send again: for so long, or until it is closed."""
    path = prefix(request) + "/"
    answer.set_cookie(name, quote(value), max_age=seconds, path=path, httponly=True, samesite="strict")


def _said(refusal: Refusal) -> str:
    return f"{refusal.type.title}: {refusal.detail}" if refusal.detail else refusal.type.title


def _back(request: Request) -> str:
    """Give the page that a form stands on: its own path without its last part."""
    return here(request).rpartition("/")[0] or "/"


def _to_login(request: Request) -> Response:
    # Whoever was shown a panel goes on to the page that it is part of, and whoever sent a form to the one it stands on.
    asked = _back(request) if request.method == "POST" else here(request) + query_without(request, "panel")
    there = prefix(request) + asked
    login = f"{prefix(request)}/login?{urlencode({'next': there})}"
    if "hx-request" in request.headers:  # a panel: the whole page goes there
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login})
    return RedirectResponse(login, HTTPStatus.SEE_OTHER)


class _Live:
    """An ASGI application, not a function: the stream is written as it comes."""

    def __init__(self, board: Dashboard) -> None:
        self._board = board

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._board.live(scope, receive, send)


def dashboard(app: "Holdfast", access: Access, buttons: Sequence[Button] = ()) -> list[BaseRoute]:
    """Make the routes of all pages, files and forms."""
    board = Dashboard(app, access, buttons)
    made: list[BaseRoute] = [statics.route, Route("/live", _Live(board))]
    made += [
        _route(board, each.path, partial(board.act, action=each), "POST") for each in actions_of(buttons)
    ]
    for section in SECTIONS:
        pages = [with_panels(page, access.hooks.panels) for page in section.pages]
        made += [_route(board, page.path, partial(board.show, page=page)) for page in pages]
        made += [_route(board, each.path, partial(board.give, download=each)) for each in section.downloads]
        made += [
            _route(board, each.path, partial(board.act, action=each), "POST") for each in section.actions
        ]
    return made


def _route(
    board: Dashboard, path: str, answer: Callable[[Request], Awaitable[Response]], method: str = "GET"
) -> Route:
    """Make a route whose refusals are pages."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except Refusal as refusal:
            return await board.refused(request, refusal)
        except Exception as error:  # noqa: BLE001 - nothing may reach the reader that says how we work inside
            return await board.refused(request, refusal_of(error))

    return Route(path, answered, methods=[method])


__all__ = ["Dashboard", "Section", "dashboard"]
