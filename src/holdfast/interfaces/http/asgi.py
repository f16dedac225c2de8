"""All doors together: one ASGI application, of which any parts can be served apart."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from holdfast.domain.errors import Configuration
from holdfast.interfaces.http.access import Access, Authenticate
from holdfast.interfaces.http.api.alerts import alerts, audit
from holdfast.interfaces.http.api.approvals import approvals
from holdfast.interfaces.http.api.figures import usage
from holdfast.interfaces.http.api.jobs import jobs
from holdfast.interfaces.http.api.queues import flags, queues, tasks, workers
from holdfast.interfaces.http.api.schedules import schedules
from holdfast.interfaces.http.approval_page import approval_page
from holdfast.interfaces.http.description import description
from holdfast.interfaces.http.health import health
from holdfast.interfaces.http.metrics import metrics
from holdfast.interfaces.http.operation import Operation
from holdfast.interfaces.http.serve import not_found, routes
from holdfast.interfaces.http.tick import tick

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

OPERATIONS = [jobs, approvals, queues, tasks, workers, schedules, usage, flags, alerts, audit]


def operations() -> list[Operation]:
    """List all operations of the API."""
    return [operation for group in OPERATIONS for operation in group.all]


def _api(app: "Holdfast", access: Access) -> list[BaseRoute]:
    found = operations()
    return [Mount("/api/v1", routes=[*description(found), *routes(app, access, found)])]


# What each part brings; the order is the order in which paths are looked at.
PARTS: dict[str, Callable[["Holdfast", Access], list[BaseRoute]]] = {
    "tick": tick,  # before the API, whose paths begin alike
    "api": _api,
    "approvals": approval_page,
    "health": health,
    "metrics": metrics,
}


def asgi(
    app: "Holdfast", parts: Collection[str] | None = None, authenticate: Authenticate | None = None
) -> Starlette:
    """Make the application of these parts; all of them unless told."""
    chosen = list(PARTS) if parts is None else list(parts)
    if unknown := sorted(set(chosen) - set(PARTS)):
        raise Configuration(f"there is no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    access = Access(app, authenticate)

    @asynccontextmanager
    async def lifespan(_served: Starlette) -> AsyncIterator[None]:
        yield
        await app.link.aclose()

    made = [route for part in PARTS if part in chosen for route in PARTS[part](app, access)]
    return Starlette(routes=made, lifespan=lifespan, exception_handlers={404: not_found, 405: not_found})
