"""Pages of figures, looked at by people of different roles, on a database whose jobs were moved by hand."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from holdfast import Holdfast
from holdfast.domain.access import Principal, Role
from holdfast.interfaces.http.asgi import asgi
from holdfast.server import Button
from service.house import MANY, OWN_PAGE, settings


@asynccontextmanager
async def looking(
    app: Holdfast,
    role: Role = Role.OPERATOR,
    tenant: str | None = None,
    prefix: str = "",
    buttons: Sequence[Button] = (),
) -> AsyncIterator[httpx.AsyncClient]:
    """Look at an app's pages as somebody."""

    async def authenticate(_request: object) -> Principal:
        return Principal.of_role(f"the {role}", role, tenant)

    served = asgi(app, authenticate=authenticate, settings=settings(**MANY), buttons=buttons)
    transport = httpx.ASGITransport(served, root_path=prefix)
    async with httpx.AsyncClient(
        transport=transport, base_url="https://jobs.test", headers=OWN_PAGE
    ) as client:
        yield client
    await app.link.aclose()


def panel_of(page: str, place: str) -> str:
    """Cut one panel out of a page."""
    found = re.search(rf'<section class="panel" id="{place}".*?</section>', page, re.DOTALL)
    assert found is not None, f"no panel {place}"
    return found[0]


def words_of(text: str) -> str:
    """Give what a reader sees, without the marks."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text)).strip()
