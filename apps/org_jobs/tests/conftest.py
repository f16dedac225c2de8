"""The product on a database of the test's own, its web on loopback, and who calls it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import httpx
import pytest

from apps._world.serving import served
from apps.org_jobs.app import prepare
from apps.org_jobs.organisations import add_organisation
from apps.org_jobs.repository import HoldfastRepository
from apps.org_jobs.settings import Settings
from apps.org_jobs.tasks import app
from apps.org_jobs.web import make_web
from holdfast.testing import ScratchDatabase

OPERATOR = "the-operators-token"

Serve: TypeAlias = Callable[..., httpx.Client]


@pytest.fixture
def database(holdfast_db: ScratchDatabase) -> ScratchDatabase:
    """Give the database with the product's tables in it."""
    holdfast_db.create_schema("org_jobs")
    holdfast_db.use(app)
    prepare()
    return holdfast_db


@pytest.fixture
def repository(database: ScratchDatabase) -> HoldfastRepository:
    return HoldfastRepository(app)


@pytest.fixture
def serve(database: ScratchDatabase) -> Iterator[Serve]:
    """Serve the product with these settings; gives a client without a token."""
    with ExitStack() as stack:

        def serving(settings: Settings | None = None) -> httpx.Client:
            chosen = settings or Settings(is_production=False, operator_token=OPERATOR)
            url = stack.enter_context(served(make_web(chosen)))
            return stack.enter_context(httpx.Client(base_url=url, timeout=30))

        yield serving


@pytest.fixture
def web(serve: Serve) -> httpx.Client:
    return serve()


@pytest.fixture
def acme(database: ScratchDatabase) -> dict[str, str]:
    """Give the headers that one organisation sends."""
    return bearing(add_organisation("acme"))


@pytest.fixture
def globex(database: ScratchDatabase) -> dict[str, str]:
    """Give the headers that another organisation sends."""
    return bearing(add_organisation("globex"))


@pytest.fixture
def operator() -> dict[str, str]:
    """Give the headers that the operator sends."""
    return bearing(OPERATOR)


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
