"""All doors together: one ASGI application, of which any parts can be served apart."""

import os
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from holdfast.domain.errors import Configuration
from holdfast.interfaces.http import callbacks, live
from holdfast.interfaces.http.access import Access, Authenticate
from holdfast.interfaces.http.api.alerts import alerts, audit
from holdfast.interfaces.http.api.approvals import approvals
from holdfast.interfaces.http.api.deliveries import deliveries
from holdfast.interfaces.http.api.figures import usage
from holdfast.interfaces.http.api.job_story import stories
from holdfast.interfaces.http.api.jobs import jobs
from holdfast.interfaces.http.api.keys import keys
from holdfast.interfaces.http.api.operations import operations
from holdfast.interfaces.http.api.people import people
from holdfast.interfaces.http.api.queues import flags, queues, tasks, workers
from holdfast.interfaces.http.api.schedules import schedules
from holdfast.interfaces.http.api.system import system
from holdfast.interfaces.http.api.views import views
from holdfast.interfaces.http.approval_page import approval_page
from holdfast.interfaces.http.button import Button
from holdfast.interfaces.http.dashboard import dashboard
from holdfast.interfaces.http.description import description
from holdfast.interfaces.http.guard import guards
from holdfast.interfaces.http.health import health
from holdfast.interfaces.http.hooks import Hooks
from holdfast.interfaces.http.login import login
from holdfast.interfaces.http.login_links import LoginLinks
from holdfast.interfaces.http.metrics import metrics
from holdfast.interfaces.http.operation import Operation
from holdfast.interfaces.http.serve import not_found, routes
from holdfast.interfaces.http.tick import tick
from holdfast.interfaces.http.webhooks import webhook_routes
from holdfast.interfaces.settings import Settings
from holdfast.runtime.streams import close_streams

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

OPERATIONS = [
    jobs,
    stories,
    operations,
    views,
    approvals,
    queues,
    tasks,
    workers,
    schedules,
    usage,
    flags,
    alerts,
    deliveries,
    audit,
    keys,
    people,
    system,
]


def all_operations() -> list[Operation]:
    """List all operations of the API."""
    return [operation for group in OPERATIONS for operation in group.all]


def _api(app: "Holdfast", access: Access) -> list[BaseRoute]:
    found = all_operations()
    return [Mount("/api/v1", routes=[*description(found), *routes(app, access, found)])]


def _live(app: "Holdfast", access: Access) -> list[BaseRoute]:
    return [*live.routes(app, access)]


def _callbacks(app: "Holdfast", _access: Access) -> list[BaseRoute]:
    return [*callbacks.routes(app)]


# What each part brings; the order is the order in which paths are looked at.
Brings: TypeAlias = Callable[["Holdfast", Access], list[BaseRoute]]
PARTS: dict[str, Brings] = {
    "live": _live,  # these two before the API, whose prefix they share
    "tick": tick,
    "api": _api,
    "callbacks": _callbacks,
    "webhooks": webhook_routes,
    "approvals": approval_page,
    "login": login,
    "health": health,
    "metrics": metrics,
    "dashboard": dashboard,
}


def parts_of(app: "Holdfast") -> list[str]:
    """Name the parts that are of use to an app: all, without doors that nobody would come through."""
    unused = {*([] if app.executors else ["callbacks"]), *([] if app.webhooks else ["webhooks"])}
    return [part for part in PARTS if part not in unused]


def asgi(
    app: "Holdfast",
    parts: Collection[str] | None = None,
    authenticate: Authenticate | None = None,
    *,
    auth: bool = True,
    settings: Settings | None = None,
    links: LoginLinks | None = None,
    buttons: Sequence[Button] = (),
    hooks: Hooks | None = None,
) -> Starlette:
    """Make the application of these parts; all that are of use to the app unless told.

    Without auth everybody on this machine, and nobody else, may do everything.
    """
    chosen = parts_of(app) if parts is None else list(parts)
    if unknown := sorted(set(chosen) - set(PARTS)):
        raise Configuration(f"there is no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    settings = settings or Settings({}, os.environ, Path.cwd())
    access = Access(app, authenticate, settings=settings, auth=auth, hooks=hooks)

    @asynccontextmanager
    async def lifespan(_served: Starlette) -> AsyncIterator[None]:
        yield
        await close_streams()
        await app.link.aclose()

    brought: dict[str, Brings] = {
        **PARTS,
        "login": partial(login, links=links),
        "dashboard": partial(dashboard, buttons=buttons),
    }
    made = [route for part in PARTS if part in chosen for route in brought[part](app, access)]
    return Starlette(
        routes=made,
        lifespan=lifespan,
        middleware=guards(settings, auth=auth),
        exception_handlers={404: not_found, 405: not_found},
    )
