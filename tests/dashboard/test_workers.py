"""Workers on the page of queues: made quiet, let claim again, asked to stop, and shown as draining."""

from uuid import UUID

import httpx
import pytest

from dashboard.conftest import Looking
from dashboard.looks import panel_of, words_of
from holdfast.domain.access import Role
from sql.support import Machine


@pytest.fixture
def worker(machine: Machine) -> UUID:
    """Give a worker that lives."""
    machine.register("t")
    return machine.worker("w7")


async def ask(browser: httpx.AsyncClient, what: str, worker: UUID) -> str:
    """Send a form of a worker, and give the page that follows."""
    answer = await browser.post(f"/queues/{what}-worker", data={"worker": str(worker), "reason": "deploy"})
    assert answer.headers["location"] == "/queues"
    return (await browser.get("/queues")).text


async def test_a_worker_is_made_quiet_and_lets_itself_be_called_back(
    looking: Looking, machine: Machine, worker: UUID
) -> None:
    async with looking(name="ann") as browser:
        quiet = await ask(browser, "quiet", worker)
        again = await ask(browser, "resume", worker)

    assert "Worker w7 claims no more" in quiet
    assert "draining made quiet by ann" in words_of(panel_of(quiet, "worker-list"))
    assert "Claim again" in quiet
    assert "draining" not in panel_of(again, "worker-list")
    done = machine.rows("select actor, action, target, reason from holdfast.audit order by id")
    assert [tuple(each.values()) for each in done] == [
        ("ann", "worker.quiet", "w7", "deploy"),
        ("ann", "worker.resume", "w7", "deploy"),
    ]


async def test_a_stop_cannot_be_taken_back_and_the_dead_are_asked_nothing(
    looking: Looking, machine: Machine, worker: UUID
) -> None:
    async with looking() as browser:
        stopping = await ask(browser, "stop", worker)
        refused = await ask(browser, "resume", worker)
        machine.run("update holdfast.worker set died_at = now()")
        dead = await ask(browser, "stop", worker)

    assert "asked to stop by operator" in words_of(panel_of(stopping, "worker-list"))
    assert "Request stop" not in stopping
    assert "cannot be taken back" in refused
    assert "no living worker" in dead


async def test_a_program_that_claims_for_itself_is_left_alone(
    looking: Looking, machine: Machine, worker: UUID
) -> None:
    machine.run("update holdfast.worker set queues = '{}'")
    async with looking() as browser:
        page = await ask(browser, "stop", worker)

    assert "claims for itself" in page
    assert "Request stop" not in page


async def test_a_queue_whose_only_worker_drains_has_none(
    looking: Looking, machine: Machine, worker: UUID
) -> None:
    machine.enqueue("t")
    async with looking() as browser:
        await ask(browser, "quiet", worker)
        queues = (await browser.get("/api/v1/queues")).json()["items"]
        workers = (await browser.get("/api/v1/workers")).json()["items"]

    assert {each["name"]: each["workers"] for each in queues}["default"] == 0
    assert [(each["state"], each["wish"]) for each in workers] == [("draining", "quiet")]


@pytest.mark.parametrize(("role", "tenant"), [(Role.VIEWER, None), (Role.ADMIN, "acme")])
async def test_who_may_not_steer_leaves_workers_as_they_are(
    looking: Looking, machine: Machine, worker: UUID, role: Role, tenant: str | None
) -> None:
    async with looking(role, tenant=tenant) as browser:
        for what in ("quiet", "stop", "resume"):
            await ask(browser, what, worker)

    assert machine.value("select wish from holdfast.worker") is None
    assert machine.rows("select * from holdfast.audit") == []
