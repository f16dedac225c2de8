"""Steps and checkpoints: what is done stays done, wherever a worker dies."""

from typing import Any
from uuid import UUID

from apps.agent_workflows.planner import Action, next_action
from apps.agent_workflows.tests.plane import Plane

STEPS = ["1 search", "2 read", "3 read", "4 write"]


def asked_by(plane: Plane, job_id: UUID) -> list[str]:
    """Which steps the tools were asked for, repeats included."""
    return [key.removeprefix(f"{job_id} ") for _, key in plane.tools.asked if key.startswith(str(job_id))]


def crash(plane: Plane, after: int, during: str) -> None:
    """Kill a worker while it waits for a tool's answer, and let time pass until it is missed."""
    plane.tools.script.tell(*[None] * after, during)
    with plane.stage.worker() as worker:
        assert plane.tools.kept_waiting.wait(60)
        worker.kill()
    plane.clock.advance(60)


def test_the_planner_says_the_same_when_it_has_seen_the_same() -> None:
    seen: list[dict[str, Any]] = [{"documents": ["a", "b"]}, {"text": "x"}]

    assert next_action("t", tidy=False, seen=[]) == Action("search", {"topic": "t"})
    assert next_action("t", tidy=False, seen=seen) == next_action("t", tidy=False, seen=list(seen))
    assert next_action("t", tidy=False, seen=[{"documents": []}]) is None


def test_an_agent_reaches_its_goal_step_by_step(plane: Plane) -> None:
    job_id = plane.start()
    plane.work()

    assert plane.path(job_id) == ["PENDING", "RUNNING", "COMPLETED"]
    assert asked_by(plane, job_id) == STEPS
    assert plane.tools.documents["summary of draft"] == "apples are red; pears are green"


def test_progress_is_saved_after_each_step(plane: Plane) -> None:
    plane.tools.script.tell(None, None, "limited")
    job_id = plane.start()
    plane.work()

    assert plane.rows("select value from holdfast.checkpoint where job_id = %s", job_id) == [
        ({"steps": STEPS[:2]},)
    ]
    saved = plane.ann.get(f"/api/v1/jobs/{job_id}/steps").json()["items"]
    assert [step["name"] for step in saved] == ["settings", *STEPS[:2]]


def test_progress_never_goes_back(plane: Plane) -> None:
    plane.tools.script.tell(None, None, "limited", "limited")
    job_id = plane.start()
    plane.work()
    plane.clock.advance(60)
    plane.work()

    saved = plane.rows("select attempt, value from holdfast.checkpoint where job_id = %s", job_id)

    assert plane.job(job_id)["retry_count"] == 2
    assert saved == [(1, {"steps": STEPS[:2]})]


def test_after_a_crash_it_resumes_from_the_last_saved_step_and_runs_no_finished_one_again(
    plane: Plane,
) -> None:
    job_id = plane.start()
    crash(plane, after=2, during="silent")
    plane.work()

    assert plane.job(job_id)["status"] == "COMPLETED"
    assert asked_by(plane, job_id) == ["1 search", "2 read", "3 read", "3 read", "4 write"]


def test_a_step_that_was_done_but_not_saved_is_asked_again_under_its_own_key(plane: Plane) -> None:
    job_id = plane.start()
    crash(plane, after=3, during="late")  # the tool has written, nobody has noted it
    plane.work()

    assert plane.job(job_id)["status"] == "COMPLETED"
    assert asked_by(plane, job_id) == [*STEPS, "4 write"]
    assert [tool for tool, _ in plane.tools.done] == ["search", "read", "read", "write"]


def test_any_instance_goes_on_with_any_job(plane: Plane) -> None:
    plane.tools.script.tell(None, "limited")
    job_id = plane.start()
    plane.work()  # one instance, here
    plane.clock.advance(60)

    with plane.stage.worker("--until-idle") as another:
        assert another.wait(30) == 0

    assert plane.job(job_id)["status"] == "COMPLETED"
    assert asked_by(plane, job_id) == ["1 search", "2 read", *STEPS[1:]]


def test_what_is_larger_than_a_megabyte_does_not_bloat_the_jobs_row(plane: Plane) -> None:
    plane.tools.documents = {"draft": "x" * 1_040_000}
    job_id = plane.start()
    plane.work()

    assert plane.job(job_id)["status"] == "COMPLETED"
    ((size,),) = plane.rows("select pg_column_size(j.*) from holdfast.job j where j.id = %s", job_id)
    assert size < 2_000


def test_what_is_too_large_to_keep_fails_at_once_with_a_clear_error(plane: Plane) -> None:
    plane.tools.script.tell(None, "huge")
    job_id = plane.start()
    plane.work()

    job = plane.job(job_id)
    assert job["status"] == "FAILED"
    assert job["retry_count"] == 0
    assert "more than the 1,048,576 allowed" in job["error_message"]
