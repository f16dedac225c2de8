"""Retries in two layers: a worker that died is not an upstream that said no; and each agent's own patience."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from apps._world.tools import RETRY_AFTER
from apps.agent_workflows.agents import Agent
from apps.agent_workflows.app import app
from apps.agent_workflows.tests.plane import Plane
from holdfast.testing import crash_at, drain


def retries_of(plane: Plane, job_id: UUID) -> list[dict[str, Any]]:
    return [row for row in plane.history(job_id) if row["to_status"] == "RETRY"]


def wait_of(plane: Plane, job_id: UUID) -> float:
    """How long the newest retry was to wait, in seconds."""
    retry = retries_of(plane, job_id)[-1]
    pause = datetime.fromisoformat(retry["metadata"]["due_at"]) - datetime.fromisoformat(retry["at"])
    return pause.total_seconds()


# -- the schedule ----------------------------------------------------------------------------------------------------------


def test_without_jitter_the_default_schedule_is_1_2_4_8_to_256_and_300_seconds() -> None:
    backoff = Agent(backoff_jitter=False).backoff

    assert [backoff.delay(retry, chance=0.9) for retry in range(11)] == [
        1,
        2,
        4,
        8,
        16,
        32,
        64,
        128,
        256,
        300,
        300,
    ]


def test_jitter_is_full_and_on_unless_switched_off() -> None:
    backoff = Agent().backoff

    assert [backoff.delay(4, chance) for chance in (0.0, 0.25, 0.5)] == [0, 4, 8]


def test_backoff_is_configured_per_agent(plane: Plane) -> None:
    plane.agent("hasty", backoff_base=20, backoff_multiplier=5, backoff_max=150, max_retries=5)
    plane.agent("lazy", backoff_base=100, backoff_multiplier=1, max_retries=5)
    waits: dict[str, list[float]] = {"hasty": [], "lazy": []}
    for agent, found in waits.items():
        job_id = plane.start(agent)
        for _ in range(4):
            plane.tools.script.tell("unavailable")
            plane.work()
            found.append(wait_of(plane, job_id))
            plane.clock.advance(301)
        plane.cancel(job_id)

    assert waits["hasty"] == pytest.approx([20, 100, 150, 150], abs=0.5)
    assert waits["lazy"] == pytest.approx([100, 100, 100, 100], abs=0.5)


def test_with_jitter_an_agent_waits_at_most_its_delay(plane: Plane) -> None:
    plane.agent(backoff_base=200, backoff_jitter=True)
    plane.tools.script.tell(*["unavailable"] * 8)
    jobs = [plane.start() for _ in range(8)]
    plane.work()

    waits = [wait_of(plane, job_id) for job_id in jobs]
    assert all(0 <= wait <= 200 for wait in waits)
    assert len({round(wait, 3) for wait in waits}) > 1


def test_a_job_keeps_the_settings_that_it_began_with(plane: Plane) -> None:
    plane.tools.script.tell("unavailable")
    job_id = plane.start()
    plane.work()
    plane.agent(backoff_base=77)
    plane.clock.advance(11)
    plane.tools.script.tell("unavailable")
    plane.work()

    assert wait_of(plane, job_id) == pytest.approx(20, abs=0.5)


# -- application failures --------------------------------------------------------------------------------------------------


def test_a_servers_retry_after_wins(plane: Plane) -> None:
    plane.tools.script.tell("limited")
    job_id = plane.start()
    plane.work()

    assert wait_of(plane, job_id) == pytest.approx(RETRY_AFTER, abs=0.5)
    (retry,) = retries_of(plane, job_id)
    assert retry["metadata"]["error"]["kind"] == "http:429"
    assert retry["metadata"]["retry_count"] == 1
    assert "due_at" in retry["metadata"]


def test_after_the_wait_it_goes_on_where_it_was(plane: Plane) -> None:
    plane.tools.script.tell(None, None, "limited")
    job_id = plane.start()
    plane.work()
    plane.clock.advance(RETRY_AFTER + 1)
    plane.work()

    assert plane.job(job_id)["status"] == "COMPLETED"
    assert plane.job(job_id)["retry_count"] == 1
    assert [tool for tool, _ in plane.tools.asked] == ["search", "read", "read", "read", "write"]


def test_an_upstream_that_does_not_answer_in_time_is_tried_again(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_TIMEOUT", "0.2")
    plane.tools.script.tell("silent")
    job_id = plane.start()
    plane.work()

    (retry,) = retries_of(plane, job_id)
    assert retry["metadata"]["error"]["kind"] == "timeout"
    assert wait_of(plane, job_id) == pytest.approx(10, abs=0.5)


def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_is_done_twice(plane: Plane) -> None:
    plane.tools.script.tell(None, None, None, "lost")
    job_id = plane.start()
    plane.work()
    plane.clock.advance(11)
    plane.work()

    assert plane.job(job_id)["status"] == "COMPLETED"
    assert [tool for tool, _ in plane.tools.asked].count("write") == 2
    assert [tool for tool, _ in plane.tools.done].count("write") == 1


def test_when_the_retries_are_used_up_it_fails_with_the_error(plane: Plane) -> None:
    plane.agent(max_retries=1)
    plane.tools.script.tell("unavailable", "unavailable")
    job_id = plane.start()
    plane.work()
    plane.clock.advance(11)
    plane.work()

    job = plane.job(job_id)
    assert (job["status"], job["retry_count"], job["max_retries"]) == ("FAILED", 1, 1)
    assert "503" in job["error_message"]
    failed = plane.history(job_id)[-1]
    assert failed["metadata"]["kind"] == "http:503"
    assert failed["metadata"]["message"] == job["error_message"]


def test_a_no_that_will_stay_so_is_not_tried_again(plane: Plane) -> None:
    plane.tools.script.tell("unknown")
    job_id = plane.start()
    plane.work()

    assert plane.path(job_id) == ["PENDING", "RUNNING", "FAILED"]


# -- a worker that died ----------------------------------------------------------------------------------------------------


def test_a_dead_worker_is_told_apart_from_an_upstream_failure_and_uses_no_retry(plane: Plane) -> None:
    plane.agent(max_retries=0)
    job_id = plane.start()
    with crash_at("ran"):
        drain(app)
    plane.clock.advance(60)
    plane.work()

    assert plane.path(job_id) == ["PENDING", "RUNNING", "RETRY", "RUNNING", "COMPLETED"]
    (retry,) = retries_of(plane, job_id)
    assert retry["actor"] == "sweeper"
    assert retry["reason"].endswith("died")
    assert retry["metadata"]["retry_count"] == 0
    assert "error" not in retry["metadata"]
