"""Two stories: an advisor who is let in, and one who is gone when it comes to that."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx

from apps._stage import Stage, until, verify
from apps._world import mail
from apps._world.mail import Mailbox
from apps.workspace_access import tasks
from apps.workspace_access.app import app
from apps.workspace_access.web import PREFIX

ADVISORS_EMAIL, ADVISORS_PHONE = "ada@example.com", "+351 900 000 001"
CLIENTS_EMAIL = "cleo@example.com"
ADMINS_EMAIL = "admins@example.com"


@dataclass(frozen=True, slots=True)
class World:
    """What the product needs around it."""

    mailbox: Mailbox
    environment: dict[str, str]


@contextmanager
def world() -> Iterator[World]:
    """Run a mail server."""
    with mail.simulated() as mailbox:
        yield World(mailbox, environment(mailbox))


def environment(mailbox: Mailbox) -> dict[str, str]:
    """Give the settings that point the product at a world."""
    return {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(mailbox.port), "ADMIN_EMAILS": ADMINS_EMAIL}


# -- people ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Given:
    """A match, and who is in it."""

    match: UUID
    project: UUID
    owner: UUID
    advisor: UUID

    @property
    def path(self) -> str:
        """Where the match's project answers."""
        return f"{PREFIX}/projects/{self.project}"


async def user(locale: str | None = "en") -> UUID:
    """Make a client."""
    made = uuid4()
    async with app.atransaction() as conn:
        await conn.execute(
            "insert into workspace_access.users (id, name, email, phone, locale) values (%s, 'Cleo', %s, '+351 911', %s)",
            (made, CLIENTS_EMAIL, locale),
        )
    return made


async def matched(locale: str | None = "en", name: str = "Ada", project: UUID | None = None) -> Given:
    """Make a match, and everybody in it."""
    owner, advisor, project = await user(locale), uuid4(), project or uuid4()
    async with app.atransaction() as conn:
        await conn.execute(
            """
            insert into workspace_access.advisors (id, name, email, phone, avatar, skills, rating)
            values (%s, %s, %s, %s, 'https://example.com/ada.png', '{tax,law}', 4.5)
            """,
            (advisor, name, ADVISORS_EMAIL, ADVISORS_PHONE),
        )
        await conn.execute(
            "insert into workspace_access.projects (id, owner_id) values (%s, %s)", (project, owner)
        )
    return Given(await tasks.propose(project, advisor, 87.5), project, owner, advisor)


# -- the stories -----------------------------------------------------------------------------------------------------------


async def happy(stage: Stage, world: World) -> str:
    """Let both approve, and see the advisor come in."""
    async with _calling(stage) as http:
        given = await matched("fr")
        await decide(http, given, "advisor", given.advisor)
        began = time.monotonic()
        answer = await decide(http, given, "client", given.owner)
        verify(
            answer.get("workspaceProvisioning") == "queued", f"the second approval queues nothing: {answer}"
        )

        async def ready() -> bool:
            shown = (await http.get(f"{given.path}/active-match")).json()["data"]
            return bool(shown["workspaceStatus"] == "ready")

        await until("the workspace is ready", ready)
        took = time.monotonic() - began
        seen = await _events(http, given, "advisor.workspace_ready")
        verify([one["seq"] for one in seen] == [1, 2, 3], f"the events are not 1, 2, 3: {seen}")
        verify(ADVISORS_EMAIL not in json.dumps(seen), "an event tells the advisor's address")
        await until("the advisor has mail", lambda: world.mailbox.to(ADVISORS_EMAIL))
    return f"the second approval opened the workspace in {took:.2f} s; events 1 to 3 came in order, and the advisor's mail"


async def failing(stage: Stage, world: World) -> str:
    """Let the advisor be gone, and see the match return to where it was."""
    async with _calling(stage) as http:
        given = await matched()
        await decide(http, given, "client", given.owner)
        async with app.atransaction() as conn:
            await conn.execute("delete from workspace_access.advisors where id = %s", (given.advisor,))
        await decide(http, given, "advisor", given.advisor)

        async def rolled_back() -> dict[str, Any] | None:
            shown: dict[str, Any] = (await http.get(f"{given.path}/active-match")).json()
            return shown if shown["data"]["status"] == "client_approved" else None

        shown = await until("the match is rolled back", rolled_back)
        verify(shown["data"]["workspaceStatus"] == "failed", f"it does not say failed: {shown}")
        verify(shown["error"]["code"] == "ADVISOR_NOT_FOUND", f"it does not say why: {shown}")
        verify(shown["data"]["provisioningAttempts"] == 1, f"it was tried again in vain: {shown}")
        alerted = await until("the admins have mail", lambda: world.mailbox.about(tasks.ALERT))
        verify(alerted[0]["To"] == ADMINS_EMAIL, f"the alert went to {alerted[0]['To']}")
        verify(alerted[0]["Importance"] == "high", "the admins' mail is not urgent")
        await until("the client has mail", lambda: world.mailbox.to(CLIENTS_EMAIL))
    return "an advisor who was gone was tried once; the match is client_approved again, admins and client have mail"


@asynccontextmanager
async def _calling(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=stage.url, timeout=30) as http:
        yield http
    await app.aclose()


async def decide(http: httpx.AsyncClient, given: Given, side: str, who: UUID) -> dict[str, Any]:
    """Let one side approve a match."""
    answer = await http.post(
        f"{PREFIX}/matches/{given.match}/{side}-decision",
        json={"decision": "approved"},
        headers={"x-user-id": str(who)},
    )
    verify(answer.is_success, f"{side} cannot approve: {answer.text}")
    data: dict[str, Any] = answer.json()["data"]
    return data


async def _events(http: httpx.AsyncClient, given: Given, last: str) -> list[dict[str, Any]]:
    """Follow a project's events up to one of a kind."""
    seen: list[dict[str, Any]] = []
    async with http.stream("GET", f"{given.path}/events", headers={"x-user-id": str(given.owner)}) as stream:
        kind = ""
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                seen.append(json.loads(value))
                if kind == last:
                    break
    return seen
