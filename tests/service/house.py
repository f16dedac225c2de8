"""A service with people in it, and browsers that come to it, each from an address of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.interfaces.http.access import Authenticate
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.settings import Settings
from holdfast.runtime.passwords import Passwords
from holdfast.store import people
from holdfast.testing import ScratchDatabase

PASSWORD = "a kettle over quiet marshes"
HASHED = Passwords().hashed(PASSWORD)
OWN_PAGE = {"Sec-Fetch-Site": "same-origin", "Origin": "https://jobs.test"}
SESSION = "__Host-holdfast"
DEVICE = "__Host-holdfast-device"
MANY = {"rate_limit": "0"}
_numbers = count(1)


def settings(**flags: str) -> Settings:
    """Give settings that nothing but these flags has a word in."""
    return Settings(flags, {}, Path("/nowhere"))


def new_address() -> str:
    number = next(_numbers)
    return f"198.18.{number // 250}.{number % 250 + 1}"


class House:
    """An app on a database that its tests share: each has people and addresses of its own."""

    def __init__(self, database: ScratchDatabase, app: Holdfast) -> None:
        self.database = database
        self.app = app

    def person(self, role: Role = Role.ADMIN, tenant: str | None = None) -> str:
        name = f"person{next(_numbers)}"
        self.app.link.perform_once(people.create_person(name, HASHED, role, tenant, "tests"))
        return name

    @asynccontextmanager
    async def browser(
        self,
        *,
        base_url: str = "https://jobs.test",
        address: str | None = None,
        headers: dict[str, str] | None = None,
        authenticate: Authenticate | None = None,
        auth: bool = True,
        public: str | None = None,
        **flags: str,
    ) -> AsyncIterator[httpx.AsyncClient]:
        """Come to the service as a page of its own does, unless other headers are given."""
        known = {**MANY, **({"base_url": public} if public else {}), **flags}
        served = asgi(self.app, authenticate=authenticate, auth=auth, settings=settings(**known))
        transport = httpx.ASGITransport(served, client=(address or new_address(), 4711))
        given = OWN_PAGE if headers is None else headers
        async with httpx.AsyncClient(transport=transport, base_url=base_url, headers=given) as client:
            yield client


async def log_in(
    client: httpx.AsyncClient, name: str, password: str = PASSWORD, **fields: Any
) -> httpx.Response:
    headers = fields.pop("headers", {})
    return await client.post("/login", data={"name": name, "password": password, **fields}, headers=headers)
