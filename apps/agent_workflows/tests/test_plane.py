"""The control plane over HTTP: agents, goals, cancelling, and lists by status, agent, tag and time."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest

from apps._world.serving import NO_TLS
from apps.agent_workflows.app import app
from apps.agent_workflows.tasks import run_agent
from apps.agent_workflows.tests.plane import Plane


def ids(jobs: list[dict[str, str]]) -> list[UUID]:
    return [UUID(job["id"]) for job in jobs]


def tick() -> datetime:
    """Give a moment of its own: ids have the millisecond in which they were made."""
    begun = datetime.now(UTC)
    while datetime.now(UTC) - begun < timedelta(milliseconds=3):
        pass
    return begun + timedelta(milliseconds=2)


# -- agents and goals ------------------------------------------------------------------------------------------------------


def test_an_agent_is_made_shown_and_changed(plane: Plane) -> None:
    plane.agent("ada", backoff_base=5)
    changed = plane.ann.put("/agents/ada", json={"backoff_base": 7, "backoff_jitter": False})

    assert changed.status_code == 200
    assert plane.ann.get("/agents/ada").json() == {
        "max_retries": 3,
        "backoff_base": 7.0,
        "backoff_multiplier": 2.0,
        "backoff_max": 300.0,
        "backoff_jitter": False,
        "approvers": [],
        "approval_expires_in": None,
    }


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_retries": 101}, "max_retries: Input should be less than or equal to 100"),
        ({"max_retries": -1}, "max_retries: Input should be greater than or equal to 0"),
        ({"backoff_multiplier": 0.5}, "backoff_multiplier: Input should be greater than or equal to 1"),
        ({"jitter": True}, "jitter: Extra inputs are not permitted"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    plane: Plane, settings: dict[str, object], problem: str
) -> None:
    refused = plane.ann.put("/agents/ada", json=settings)

    assert refused.status_code == 400
    assert refused.json()["error"] == problem


def test_an_odd_name_an_unknown_agent_and_an_empty_goal_are_refused(plane: Plane) -> None:
    assert plane.ann.put("/agents/Ada", json={}).status_code == 400
    assert plane.ann.get("/agents/nobody").status_code == 404
    assert plane.ann.post("/agents/nobody/jobs", json={"topic": "draft"}).status_code == 404
    assert plane.ann.post("/agents/scout/jobs", json={"topic": ""}).status_code == 400
    assert plane.listed() == []


def test_who_has_no_token_gets_nowhere(plane: Plane) -> None:
    for path in ("/jobs", "/agents/scout", "/api/v1/jobs"):
        assert httpx.get(plane.stage.url + path, verify=NO_TLS).status_code == 401
        wrong = httpx.get(plane.stage.url + path, headers={"Authorization": "Bearer wrong"}, verify=NO_TLS)
        assert wrong.status_code == 401


def test_a_job_is_shown_in_the_control_planes_own_words(plane: Plane) -> None:
    job_id = plane.start(priority=7, tags=["nightly"])

    job = plane.job(job_id)

    assert (job["agent_id"], job["status"], job["priority"], job["tags"]) == (
        "scout",
        "PENDING",
        7,
        ["nightly"],
    )
    assert job["payload"] == {"agent_id": "scout", "topic": "draft", "tidy": False}
    assert (job["retry_count"], job["max_retries"], job["next_retry_at"], job["finished_at"]) == (
        0,
        3,
        None,
        None,
    )


def test_a_job_for_an_agent_that_is_gone_fails_for_good(plane: Plane) -> None:
    handle = run_agent.enqueue("nobody", "draft")
    plane.work()

    assert plane.path(handle.id) == ["PENDING", "RUNNING", "FAILED"]
    assert plane.job(handle.id)["error_message"] == "there is no agent 'nobody'"


def test_a_job_outlives_its_agent(plane: Plane) -> None:
    job_id = plane.start()
    plane.work()
    plane.rows("delete from agent_workflows.agent where id = 'scout' returning id")

    assert plane.job(job_id)["agent_id"] == "scout"
    assert plane.path(job_id)[-1] == "COMPLETED"


def test_the_more_urgent_goal_is_taken_first(plane: Plane) -> None:
    calm, urgent = plane.start(), plane.start(priority=100)

    order = [job.id for job in app.claim(2)]

    assert order == [urgent, calm]


# -- cancelling ------------------------------------------------------------------------------------------------------------


def test_a_job_that_has_not_begun_is_cancelled(plane: Plane) -> None:
    job_id = plane.start()

    assert plane.cancel(job_id).status_code == 200
    plane.work()

    assert plane.path(job_id) == ["PENDING", "CANCELLED"]
    assert plane.tools.asked == []


@pytest.mark.parametrize(
    ("trouble", "tidy", "status"), [("limited", False, "RETRY"), (None, True, "WAITING_FOR_APPROVAL")]
)
def test_a_job_that_waits_is_cancelled(plane: Plane, trouble: str | None, tidy: bool, status: str) -> None:
    plane.tools.script.tell(trouble)
    job_id = plane.start(tidy=tidy)
    plane.work()
    assert plane.job(job_id)["status"] == status

    assert plane.cancel(job_id).status_code == 200
    plane.clock.advance(86_400)
    plane.work()

    assert plane.path(job_id)[-2:] == [status, "CANCELLED"]
    assert app.approvals.list() == []


def test_a_running_job_is_told_and_stopped(plane: Plane) -> None:
    plane.tools.script.tell("silent")
    with plane.stage.worker():
        job_id = plane.start()
        assert plane.tools.kept_waiting.wait(30)
        assert plane.job(job_id)["status"] == "RUNNING"

        assert plane.cancel(job_id).status_code == 200

        assert plane.tools.hung_up.wait(15)  # long before its time-out of 30 s
    assert plane.path(job_id) == ["PENDING", "RUNNING", "CANCELLED"]
    assert plane.history(job_id)[-1]["reason"] == "not needed any more"
    assert len(plane.tools.asked) == 1


@pytest.mark.parametrize("trouble", [None, "unknown"])
def test_a_job_that_has_ended_is_not_cancelled(plane: Plane, trouble: str | None) -> None:
    plane.tools.script.tell(trouble)
    job_id = plane.start()
    plane.work()

    assert plane.cancel(job_id).status_code == 409


# -- lists -----------------------------------------------------------------------------------------------------------------


def test_jobs_are_listed_by_status_agent_tag_and_time(plane: Plane) -> None:
    plane.agent("ada")
    plane.tools.script.tell("unknown")
    failed = plane.start("ada", tags=["nightly"])
    plane.work()
    noon = tick()
    completed, other = plane.start("ada"), plane.start("scout", tags=["nightly"])
    plane.work()

    assert ids(plane.listed(agent="ada")) == [completed, failed]
    assert ids(plane.listed(status="failed")) == [failed]
    assert ids(plane.listed(status="COMPLETED", agent="scout")) == [other]
    assert ids(plane.listed(tag="nightly")) == [other, failed]
    assert ids(plane.listed(since=noon.isoformat())) == [other, completed]
    assert ids(plane.listed(until=noon.isoformat(), agent="ada")) == [failed]
    assert ids(plane.listed(status="completed,failed", agent="ada", since="1h")) == [completed, failed]


def test_a_long_list_is_read_in_parts(plane: Plane) -> None:
    made = [plane.start() for _ in range(60)]

    first = plane.ann.get("/jobs").json()
    rest = plane.ann.get("/jobs", params={"before": first["before"]}).json()

    assert [*ids(first["jobs"]), *ids(rest["jobs"])] == made[::-1]
    assert rest["before"] is None


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        ({"status": "faild"}, "did you mean failed?"),
        ({"since": "yesterday"}, "since: takes how long ago"),
        ({"colour": "red"}, "not by colour"),
        ({"before": "x"}, "is not a job id"),
    ],
)
def test_a_list_that_cannot_be_understood_says_why(
    plane: Plane, filters: dict[str, str], problem: str
) -> None:
    refused = plane.ann.get("/jobs", params=filters)

    assert refused.status_code == 400
    assert problem in refused.json()["error"]


def test_a_filter_cannot_bring_terms_of_its_own(plane: Plane) -> None:
    plane.start()

    assert plane.listed(agent='nobody" task:"run_agent') == []


def test_the_dashboard_is_live(plane: Plane) -> None:
    job_id = plane.start()
    plane.work()
    seen: list[str] = []

    with plane.ann.stream("GET", "/api/v1/events", params={"job": str(job_id), "after": "0.0"}) as events:
        for line in events.iter_lines():
            if line.startswith("data: {") and "status" in line:
                seen.append(json.loads(line.removeprefix("data: "))["data"]["status"])
            if "COMPLETED" in seen:
                break

    assert seen == ["PENDING", "RUNNING", "COMPLETED"]
