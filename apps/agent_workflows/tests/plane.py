"""The control plane as its users and operators see it, with tools that can be told to misbehave."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from apps._stage import Stage, staged
from apps._world import tools as _tools
from apps._world.serving import NO_TLS
from apps._world.tools import Tools
from apps.agent_workflows.app import app
from holdfast import Holdfast
from holdfast.testing import ScratchDatabase, drain

ANN, BEN = "ann@example.org", "ben@example.org"
TOKENS = {"anns-token": ANN, "bens-token": BEN}
CALM = {"backoff_base": 10, "backoff_jitter": False, "approvers": [ANN, BEN]}


@dataclass
class Plane:
    """The product as its users and operators see it; `owner` writes any SQL, as a person with psql would."""

    stage: Stage
    tools: Tools
    owner: Holdfast
    ann: httpx.Client
    ben: httpx.Client

    @property
    def clock(self) -> Any:
        return self.stage.database.clock

    def agent(self, name: str = "scout", **settings: Any) -> str:
        """Make an agent."""
        answer = self.ann.put(f"/agents/{name}", json={**CALM, **settings})
        assert answer.status_code == 200, answer.text
        return name

    def start(self, agent: str = "scout", *, topic: str = "draft", **goal: Any) -> UUID:
        """Let Ann give an agent a goal."""
        answer = self.ann.post(f"/agents/{agent}/jobs", json={"topic": topic, **goal})
        assert answer.status_code == 201, answer.text
        return UUID(answer.json()["id"])

    def work(self, *, projector: bool = False) -> None:
        """Do what can be done now; with a projector it is counted, too."""
        drain(app, projector=projector)

    def job(self, job_id: UUID) -> dict[str, Any]:
        """Look at a job as the control plane shows it."""
        (found,) = [job for job in self.listed() if job["id"] == str(job_id)]
        return dict(found)

    def listed(self, **filters: str) -> Any:
        answer = self.ann.get("/jobs", params=filters)
        assert answer.status_code == 200, answer.text
        return answer.json()["jobs"]

    def history(self, job_id: UUID) -> Any:
        """Read a job's history over HTTP."""
        return self.ann.get(f"/api/v1/jobs/{job_id}/history").json()["items"]

    def path(self, job_id: UUID) -> list[str]:
        return [row["to_status"] for row in self.history(job_id)]

    def decide(self, who: httpx.Client, job_id: UUID, decision: str, reason: str) -> httpx.Response:
        """Decide what a job asks, as somebody who is logged in."""
        approval_id = self.job(job_id)["approval_id"]
        body = {"decision": decision, "reason": reason}
        return who.post(f"/api/v1/approvals/{approval_id}/decide", json=body)

    def cancel(self, job_id: UUID) -> httpx.Response:
        return self.ann.post(f"/api/v1/jobs/{job_id}/cancel", json={"reason": "not needed any more"})

    def rows(self, text: str, *values: Any) -> Any:
        """Run plain SQL as the schema's owner, and commit."""
        with self.owner.transaction() as connection:
            return connection.execute(text, values).fetchall()


@contextmanager
def opened(database: ScratchDatabase) -> Iterator[Plane]:
    """Open a control plane with one calm agent, the scout."""
    with _tools.simulated() as tools:
        environment = {
            "TOOLS_URL": tools.url,
            "TOOL_TIMEOUT": "30",
            "CONTROL_PLANE_USERS": json.dumps(TOKENS),
        }
        owner = Holdfast(database.owner_url)
        with staged("agent_workflows", database, environment) as stage:
            ann, ben = (
                httpx.Client(
                    base_url=stage.url,
                    headers={"Authorization": f"Bearer {token}"},
                    timeout=30,
                    verify=NO_TLS,
                )
                for token in TOKENS
            )
            with ann, ben:
                plane = Plane(stage, tools, owner, ann, ben)
                plane.agent()
                yield plane
        owner.close()
