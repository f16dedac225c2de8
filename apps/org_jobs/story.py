"""What the demo plays: two organisations and their jobs; then a failure, and a neighbour who queues far too much."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from apps._stage import Stage, until, verify
from apps.org_jobs.app import app
from apps.org_jobs.audit import usage_by_history
from apps.org_jobs.organisations import add_organisation, set_contact_limit
from apps.org_jobs.tasks import forget_contacts
from apps.org_jobs.usage import Usage, usage

NOISE = 2000


@dataclass(frozen=True, slots=True)
class World:
    """Nobody but the product's own customers and its operator."""

    operator_token: str

    @property
    def environment(self) -> dict[str, str]:
        """What the product is told."""
        return {"APP_ENV": "production", "OPERATOR_TOKEN": self.operator_token}


@contextmanager
def world() -> Iterator[World]:
    """Give the operator a token."""
    yield World(secrets.token_urlsafe(32))


class Caller:
    """Somebody with a token."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def enqueue(self, *contacts: dict[str, str], dedupe: bool = False) -> str:
        """Queue an import; gives its id."""
        told = {"type": "import_contacts", "payload": {"contacts": contacts}, "dedupe": dedupe}
        job_id: str = (await self.ask("POST", "/api/jobs", 202, json=told)).json()["id"]
        return job_id

    async def ask(self, method: str, path: str, expected: int = 200, **more: Any) -> httpx.Response:
        """Ask, and insist on the answer's status."""
        answer = await self._http.request(method, path, **more)
        verify(answer.status_code == expected, f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    async def until(self, job_id: str, **facts: Any) -> dict[str, Any]:
        """Wait until these facts are true of a job."""

        async def look() -> dict[str, Any] | None:
            job: dict[str, Any] = (await self.ask("GET", f"/api/jobs/{job_id}")).json()
            return job if facts.items() <= job.items() else None

        found: dict[str, Any] = await until(f"job {job_id} is {facts}", look)
        return found


@asynccontextmanager
async def calling(stage: Stage, token: str) -> AsyncIterator[Caller]:
    """Let somebody call the product."""
    async with httpx.AsyncClient(base_url=stage.url, headers={"Authorization": f"Bearer {token}"}) as http:
        yield Caller(http)


async def happy(stage: Stage, world: World) -> str:
    """Let two organisations queue the same: each has a job, sees it alone, and the operator sees what both cost."""
    async with (
        calling(stage, add_organisation("acme")) as acme,
        calling(stage, add_organisation("globex")) as globex,
        calling(stage, world.operator_token) as operator,
    ):
        ours = await acme.enqueue({"email": "ann@example.com", "name": "Ann"}, dedupe=True)
        theirs = await globex.enqueue({"name": "Ann", "email": "ann@example.com"}, dedupe=True)
        verify(ours != theirs, "another organisation's equal payload must be another job")
        await acme.until(ours, status="success", attempts=1)
        await globex.until(theirs, status="success", attempts=1)
        await acme.ask("GET", f"/api/jobs/{theirs}", 404)

        rows = await _usage_that_adds_up()
        exported = (await operator.ask("GET", "/api/usage.csv")).text.splitlines()
        verify(len(exported) == 1 + len(rows), "the export has not a line for each row of usage")
        drawn = (await operator.ask("GET", "/api/usage.svg")).text
        verify(drawn.count('class="bar"') == len(rows), "the plot has not a bar for each row of usage")
    return (
        "two organisations queued the same, got a job each and saw only their own;"
        f" {len(rows)} rows of usage, exported and plotted, equal the history"
    )


async def failing(stage: Stage, world: World) -> str:
    """Let an import fail, wait a second and succeed; and let one organisation queue thousands before another's one."""
    async with (
        calling(stage, add_organisation("small", contact_limit=1)) as small,
        calling(stage, world.operator_token) as operator,
    ):
        failed = await small.enqueue({"email": "ann@example.com"}, {"email": "ben@example.com"})
        job = await small.until(failed, status="queued", attempts=1)
        verify(job["last_error"] == "2 contacts, and room for 1", f"last_error is {job['last_error']!r}")
        set_contact_limit("small", 100)
        await small.until(failed, status="success", attempts=2)

        app.enqueue_many([forget_contacts.using(tenant="loud").job(1 + days) for days in range(NOISE)])
        quiet = await small.enqueue({"email": "cho@example.com"})
        await small.until(quiet, status="success")
        waited = _seconds_before(quiet)
        verify(waited < 1.0, f"behind {NOISE:,} jobs of another organisation it waited {waited:.2f} s")

        await _usage_that_adds_up("small")
        used = (await operator.ask("GET", "/api/usage?org_id=small")).json()["usage"]
        verify(sum(row["requeued"] for row in used) == 1, f"one run was to be paid twice, not {used}")
    return (
        "a failed import was queued again and done at attempt 2;"
        f" one job started {waited * 1000:.0f} ms after it was queued behind {NOISE:,} of another organisation; its usage equals its history"
    )


def _seconds_before(job_id: str) -> float:
    """Say how long a job was queued before it started."""
    queued, started, *_ = app.history(job_id)
    return (started.at - queued.at).total_seconds()


async def _usage_that_adds_up(org_id: str | None = None) -> list[Usage]:
    """Wait for the figures, which come a moment after the jobs."""

    def look() -> list[Usage] | None:
        rows = usage(org_id)
        return rows if rows == usage_by_history(org_id) else None

    rows: list[Usage] = await until("usage equals the history", look)
    return rows
