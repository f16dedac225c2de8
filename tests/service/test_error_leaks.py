"""P12: every error that PostgreSQL knows, in the middle of a request: the caller learns what they can act on, and nothing of ours."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from psycopg import errors

from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.testing import TestServer
from service.targets import Target, target

# 00 to 02 are no errors; plpgsql raises none of them.
STATES = sorted(
    {
        state
        for kind in vars(errors).values()
        if isinstance(state := getattr(kind, "sqlstate", None), str) and state[:2] > "02"
    }
)
# What the values break is told in PostgreSQL's own words, which name the value that the caller gave.
TOLD = ("22", "23", "54")
INNER = [
    "the-detail",
    "the-context",
    "the-table",
    "the-column",
    "the-constraint",
    "/srv/secret.c",
    "insert into",
    "plpgsql",
    "psycopg",
]


@pytest.fixture(scope="module")
def broken(holdfast_server: TestServer) -> Iterator[Target]:
    """Give a service whose database fails in a way that a table names."""
    with target(holdfast_server, Scope.ENQUEUE) as attacked:
        owner = attacked.owner
        owner.execute("create table public.failing (state text); insert into public.failing values ('22000')")
        owner.execute("""
            create function public.fail() returns trigger language plpgsql security definer as $$
            declare v_state text := (select state from public.failing);
            begin
              raise exception using errcode = v_state, message = 'the-message of /srv/secret.c', detail = 'the-detail: Failing row contains (42)',
                table = 'the-table', column = 'the-column', constraint = 'the-constraint', schema = 'the-context';
            end $$;
            create trigger fails before insert on holdfast.job for each statement execute function public.fail();
        """)
        yield attacked


@pytest.fixture
async def client(broken: Target) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(asgi(broken.app))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", headers=broken.headers
    ) as client:
        yield client
    await broken.app.link.aclose()


async def test_no_error_of_the_database_says_how_we_work_inside(
    broken: Target, client: httpx.AsyncClient
) -> None:
    seen: dict[str, int] = {}
    for state in STATES:
        broken.owner.execute("update public.failing set state = %s", [state])
        answer = await client.post("/api/v1/jobs", json={"task": "take", "payload": {"name": "the-payload"}})

        text = answer.text.lower()
        seen[state] = answer.status_code
        is_told = state.startswith(TOLD) and answer.status_code == 422
        leaks = [word for word in INNER if word in text and not (is_told and word == "/srv/secret.c")]
        assert leaks == [], (state, text)
        assert "the-payload" not in text
        assert is_told or "the-message" not in text, (state, text)
        assert answer.headers["content-type"] == "application/problem+json"

    assert len(STATES) > 200
    # Away, wrong on our side, or wrong on theirs: each is told apart.
    assert {seen[state] for state in ("57P01", "53300", "40001")} == {503}
    assert {seen[state] for state in ("XX000", "42601", "P0001", "42P01")} == {500}
    assert {seen[state] for state in ("22001", "23514")} == {422}
