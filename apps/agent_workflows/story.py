"""Two stories: an agent that has a hard day and reaches its goal, and one that is not allowed to do harm."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from apps._stage import Stage, until, verify
from apps._world import mail as _mail
from apps._world import tools as _tools
from apps._world.mail import Mailbox
from apps._world.serving import NO_TLS
from apps._world.tools import Tools

ANN, BEN = "ann@example.org", "ben@example.org"
TOKENS = {"anns-token": ANN, "bens-token": BEN}
LINK = re.compile(r"http://\S+/a/(\S+)#(hfa_[\w-]+)")
TROUBLE = ("lost", "silent")
OWN = {"Sec-Fetch-Site": "same-origin"}  # as a browser sends the page's own form


@dataclass
class World:
    """The tools, and the approvers' mail."""

    tools: Tools
    mailbox: Mailbox

    @property
    def environment(self) -> dict[str, str]:
        """How the product finds them."""
        return {
            "TOOLS_URL": self.tools.url,
            "TOOL_TIMEOUT": "1",
            "CONTROL_PLANE_USERS": json.dumps(TOKENS),
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(self.mailbox.port),
        }


@contextmanager
def world() -> Iterator[World]:
    """Start what the product needs around it."""
    with _tools.simulated() as tools, _mail.simulated() as mailbox:
        yield World(tools, mailbox)


class Ann:
    """Ann gives an agent a goal and watches it; Ben gets the mail."""

    def __init__(self, stage: Stage, world: World) -> None:
        self._stage = stage
        self._world = world

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx.request(
            method,
            self._stage.url + path,
            json=body,
            headers={"Authorization": "Bearer anns-token"},
            timeout=30,
            verify=NO_TLS,
        )
        return answer.raise_for_status().json()

    def give(self, agent: str, goal: dict[str, Any], approvers: list[str] | None = None) -> str:
        """Make an impatient agent that asks Ben, or others, and give it a goal."""
        self._ask("PUT", f"/agents/{agent}", {"backoff_base": 0.1, "approvers": approvers or [BEN]})
        return str(self._ask("POST", f"/agents/{agent}/jobs", goal)["id"])

    async def question(self) -> tuple[str, str]:
        """Wait for the mail to Ben; gives the approval and its secret."""
        mail = await until("Ben has mail", lambda: self._world.mailbox.to(BEN))
        body = mail[-1].get_body(("plain",))
        found = LINK.search(body.get_content() if body else "")
        verify(found is not None, "Ben's mail has no link")
        self._world.mailbox.messages.clear()
        return (found[1], found[2]) if found else ("", "")

    def press(self, approval: str, secret: str, decision: str, reason: str) -> None:
        """Let Ben open his link, which decides nothing, and press a button."""
        page = f"{self._stage.url}/a/{approval}"
        httpx.get(page, verify=NO_TLS).raise_for_status()
        opened = httpx.post(page, data={"code": secret}, headers=OWN, verify=NO_TLS)
        shown = opened.raise_for_status().text
        version = re.search(r'name="version" value="(\w+)"', shown)
        verify(version is not None, "the page does not show the question")
        form = {
            "code": secret,
            "version": version[1] if version else "",
            "decision": decision,
            "reason": reason,
        }
        httpx.post(page, data=form, headers=OWN, verify=NO_TLS).raise_for_status()

    async def ended(self, job_id: str) -> dict[str, Any]:
        """Wait until a job has ended, and show it."""
        await until(f"job {job_id} has ended", lambda: self.has_ended(job_id))
        return self._look(job_id)

    def has_ended(self, job_id: str) -> bool:
        """Look whether a job has ended."""
        return self._look(job_id)["finished_at"] is not None

    def _look(self, job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = self._ask("GET", f"/api/v1/jobs/{job_id}")
        return job

    def history(self, job_id: str) -> list[dict[str, Any]]:
        """Read a job's history."""
        rows: list[dict[str, Any]] = self._ask("GET", f"/api/v1/jobs/{job_id}/history")["items"]
        return rows


async def happy(stage: Stage, world: World) -> str:
    """Let an upstream be away, an answer be lost and another never come; Ben approves; each thing is done once."""
    ann = Ann(stage, world)
    world.tools.script.tell("unavailable", None, *TROUBLE)
    job_id = ann.give("scout", {"topic": "draft", "tidy": True})
    ann.press(*await ann.question(), "approve", "I have a copy")
    job = await ann.ended(job_id)
    verify(job["status"] == "COMPLETED", f"the agent did not reach its goal: {job['error']}")
    done = [tool for tool, _ in world.tools.done]
    verify(done == ["search", "read", "read", "write", "delete"], f"not each thing was done once: {done}")
    verify(job["retry_count"] == 1 + len(TROUBLE), f"not each failure is counted once: {job['retry_count']}")
    approved = [row for row in ann.history(job_id) if row["from_status"] == "WAITING_FOR_APPROVAL"]
    verify(approved[0]["metadata"]["approval"]["by"] == BEN, "the history does not say who approved")
    return "agent workflows: 5 steps done once each through 3 upstream failures, the dangerous one approved by mail"


async def failing(stage: Stage, world: World) -> str:
    """Let Ben deny: nothing is deleted."""
    ann = Ann(stage, world)
    world.tools.documents["draft three"] = "plums are blue"
    job_id = ann.give("tidy-bot", {"topic": "three", "tidy": True})
    ann.press(*await ann.question(), "deny", "we still need it")
    job = await ann.ended(job_id)
    verify(job["status"] == "FAILED", f"a denied job is {job['status']}")
    verify("draft three" in world.tools.documents, "what was denied was done all the same")
    told = ann.history(job_id)[-1]["metadata"]["approval"]
    verify(
        (told["by"], told["reason"]) == (BEN, "we still need it"),
        "the history does not say who denied and why",
    )
    return (
        "agent workflows: a denied tool was not used, the job FAILED, who said no and why is in its history"
    )
