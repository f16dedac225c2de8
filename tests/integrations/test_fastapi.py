"""FastAPI as the host: its lifespan is the app's, its routes enqueue in its sessions, our service is under a prefix."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import Depends, FastAPI, HTTPException
from sqlalchemy.ext.asyncio import AsyncSession

from api.doors import async_engine_on, job_ids
from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.runtime.access import create_key
from holdfast.server import asgi
from holdfast.testing import ScratchDatabase


@pytest.fixture(params=["psycopg", "asyncpg"])
def host(request: pytest.FixtureRequest, app: Holdfast, holdfast_db: ScratchDatabase) -> FastAPI:
    @app.task()
    async def ship(order_id: int) -> None: ...

    @asynccontextmanager
    async def lifespan(host: FastAPI) -> AsyncIterator[None]:
        async with app, async_engine_on(holdfast_db.owner_url, request.param) as engine:
            host.state.engine = engine
            async with engine.begin() as connection:
                await connection.execute(sa.text("create table orders (id int primary key)"))
            yield

    host = FastAPI(lifespan=lifespan)
    host.mount("/ops", asgi(app))

    async def session() -> AsyncIterator[AsyncSession]:
        async with AsyncSession(host.state.engine) as session, session.begin():
            yield session

    @host.post("/orders/{order_id}")
    async def order(order_id: int, session: Annotated[AsyncSession, Depends(session)]) -> dict[str, Any]:
        await session.execute(sa.text("insert into orders values (:id)"), {"id": order_id})
        handle = await ship.using(conn=session).aenqueue(order_id)
        if order_id > 100:
            raise HTTPException(422, "no such order")
        return {"job": str(handle.id)}

    return host


async def test_a_route_enqueues_in_its_session_and_the_service_is_under_its_prefix(
    host: FastAPI, app: Holdfast, holdfast_db: ScratchDatabase
) -> None:
    key = create_key(app, "shop", scopes=[Scope.READ, Scope.ENQUEUE])
    transport = httpx.ASGITransport(host)
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        host.router.lifespan_context(host),
        httpx.AsyncClient(transport=transport, base_url="http://shop", headers=headers) as client,
    ):
        # The lifespan has told the database of the task before anybody enqueued it.
        over_http = await client.post("/ops/api/v1/jobs", json={"task": "ship", "payload": {"order_id": 8}})
        refused = await client.post("/orders/101")
        made = await client.post("/orders/7")
        shown = await client.get(f"/ops/api/v1/jobs/{made.json()['job']}")

    assert (refused.status_code, made.status_code, over_http.status_code) == (422, 200, 201)
    assert shown.json()["payload"] == {"order_id": 7}
    assert [str(job) for job in job_ids(holdfast_db.owner_url)] == [
        over_http.json()["id"],
        made.json()["job"],
    ]
