"""Whether the process lives, and whether it can work; for probes, which bring no key and learn nothing else."""

import httpx
import psycopg

from holdfast import Holdfast
from holdfast.interfaces.http.asgi import asgi
from service.conftest import Calling


async def test_a_service_with_its_database_is_alive_and_ready(calling: Calling) -> None:
    async with calling() as client:
        live, ready, head = [
            await client.get("/livez"), await client.get("/readyz"), await client.head("/readyz")
        ]  # fmt: skip

    assert (live.status_code, live.json()) == (200, {"status": "alive"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert head.status_code == 200


async def test_a_schema_that_is_behind_is_not_ready(calling: Calling, owner: psycopg.Connection) -> None:
    owner.execute("delete from holdfast.installed where what = '0010_access'")
    async with calling() as client:
        behind = await client.get("/readyz")
        owner.execute("drop schema holdfast cascade")
        gone = await client.get("/readyz")
        live = await client.get("/livez")

    assert (behind.status_code, behind.json()["problem"]) == (503, "schema")
    assert (gone.status_code, gone.json()["problem"]) == (503, "database")
    assert live.status_code == 200


async def test_without_the_database_it_lives_and_is_not_ready() -> None:
    app = Holdfast("postgresql://nobody:secret@127.0.0.1:1/nothing")
    transport = httpx.ASGITransport(asgi(app, ["health"]))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        live, ready = await client.get("/livez"), await client.get("/readyz")

    assert live.status_code == 200
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready", "problem": "database"})
