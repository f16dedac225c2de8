"""Workers are killed at random, the tools misbehave, and afterwards everything is as if nothing had happened."""

import random
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from apps._chaos import times
from apps._stage import until
from apps._world.script import Script
from apps.agent_workflows.app import app
from apps.agent_workflows.tests.plane import Plane
from holdfast.testing import adrain

MISBEHAVIOUR = {"unavailable": 0.1, "limited": 0.1, "lost": 0.15}
STEPS = ["1 search", "2 read", "3 read", "4 write", "5 delete"]
IMPATIENT: dict[str, Any] = {"backoff_base": 0.01, "backoff_max": 0.05, "max_retries": 100}
KILLED = 2


@pytest.mark.parametrize("seed", times(short=1, long=50))
async def test_every_goal_is_reached_with_each_step_done_once(plane: Plane, seed: int) -> None:
    chance = random.Random(seed)
    plane.agent(**IMPATIENT)
    plane.tools.script = Script(seed, MISBEHAVIOUR)
    goals = {plane.start(topic=f"plan {n}", tidy=True): n for n in make_documents(plane)}

    for _ in range(KILLED):
        await kill_a_worker(plane, chance)
        approve_all(plane)
        plane.clock.advance(60)
    while app.jobs("status:pending,running,retry,waiting_for_approval").jobs:
        await adrain(app)
        approve_all(plane)
        plane.clock.advance(60)

    assert {job["status"] for job in plane.listed()} == {"COMPLETED"}
    for job_id, n in goals.items():
        assert [step for key, step in keys(plane.tools.done) if key == job_id] == STEPS
        asked = [STEPS.index(step) for key, step in keys(plane.tools.asked) if key == job_id]
        assert all(before <= after for before, after in pairwise(asked)), "a finished step was run again"
        assert not any(name.startswith(f"plan {n} ") for name in plane.tools.documents)
        assert plane.tools.documents[f"summary of plan {n}"] == f"a of {n}; b of {n}"
        check_history(plane, job_id)


def make_documents(plane: Plane) -> range:
    numbers = range(4)
    for n in numbers:
        plane.tools.documents.update({f"plan {n} a": f"a of {n}", f"plan {n} b": f"b of {n}"})
    return numbers


async def kill_a_worker(plane: Plane, chance: random.Random) -> None:
    """Let a worker use a few tools, or have nothing left to do now, and kill it."""
    enough = len(plane.tools.asked) + chance.randint(0, 8)
    with plane.stage.worker() as worker:
        await until(
            "it has worked",
            lambda: len(plane.tools.asked) >= enough or not app.jobs("status:pending,running").jobs,
        )
        worker.kill()


def approve_all(plane: Plane) -> None:
    for approval in plane.ben.get("/api/v1/approvals").json()["items"]:
        decided = plane.ben.post(f"/api/v1/approvals/{approval['id']}/decide", json={"decision": "approve"})
        assert decided.status_code == 200


def keys(requests: list[tuple[str, str]]) -> list[tuple[UUID, str]]:
    split = [key.partition(" ") for _, key in requests]
    return [(UUID(job_id), step) for job_id, _, step in split]


def check_history(plane: Plane, job_id: UUID) -> None:
    """Every move follows the one before, and application failures are counted apart from dead workers."""
    rows = plane.history(job_id)
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(before["to_status"] == after["from_status"] for before, after in pairwise(rows))
    # What a busy worker claimed and gave back is nobody's failure either.
    retries = [row["reason"] for row in rows if row["to_status"] == "RETRY"]
    failures = [why for why in retries if not why.endswith("died") and not why.startswith("released: ")]
    assert len(failures) == plane.job(job_id)["retry_count"], retries
