"""After a failure: clean-up by the machine, retries by people, and not for ever."""

import asyncio
from dataclasses import replace

import pytest

from apps._world.script import Script
from apps.agent_provisioning.settings import Settings, refuse_missing
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tasks import provision
from apps.agent_provisioning.tests.hands import Attempt, hand_over, jobs, rows, work
from holdfast import Configuration
from holdfast.testing import ScratchDatabase


async def failed(user: User, world: World, name: str = "Atlas") -> str:
    """Let an agent fail, with a machine that nobody knows of."""
    agent_id = await user.buy(name)
    run = await hand_over(world)
    leave_machine(world, agent_id)
    await run.report("failed", message="no quota", step="create the machine")
    return agent_id


def leave_machine(world: World, agent_id: str) -> None:
    number = f"orphan-{len(world.machines.running) + len(world.machines.deleted)}"
    world.machines.running[number] = {"id": number, "name": agent_id, "region": "fsn1"}


async def fail_again(world: World) -> Attempt:
    run = await hand_over(world)
    await run.report("failed")
    return run


async def test_a_failed_attempt_is_never_retried_by_the_machine(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await failed(ana, world)

    holdfast_db.clock.advance(86_400)
    await work()

    assert [job.status for job in jobs()] == ["FAILED"]
    assert len(world.github.dispatches()) == 1
    assert (await ana.look(agent_id))["state"] == "failed"


async def test_the_orphaned_machine_is_deleted_without_anybody_asking(ana: User, world: World) -> None:
    agent_id = await failed(ana, world)
    leave_machine(world, agent_id)  # and what else carries its name

    await work()

    assert world.machines.of(agent_id) == []
    assert len(world.machines.deleted) == 2


async def test_a_clean_up_is_tried_until_the_provider_has_done_it(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await failed(ana, world)
    world.machines.script.tell("unavailable", "lost", "unavailable")

    for _ in range(4):
        await work()
        holdfast_db.clock.advance(300)

    assert world.machines.of(agent_id) == []


async def test_a_retry_starts_only_when_the_machine_is_gone(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await failed(ana, world)
    world.machines.script = Script(chances={"unavailable": 1.0})

    assert (await ana.retry(agent_id)).status_code == 202
    await work()
    assert (len(world.github.dispatches()), len(world.machines.of(agent_id))) == (1, 1)
    world.machines.script = Script()
    holdfast_db.clock.advance(300)
    await hand_over(world)

    assert (len(world.github.dispatches()), len(world.machines.of(agent_id))) == (2, 0)


async def test_a_person_retries_as_a_new_job_that_names_the_old_one(ana: User, world: World) -> None:
    agent_id = await failed(ana, world)

    answer = await ana.retry(agent_id)

    old, new = jobs()
    assert (answer.status_code, answer.json()) == (202, {"jobId": str(new.id)})
    assert (old.status, new.status, new.retry_of) == ("FAILED", "PENDING", old.id)
    assert new.payload == old.payload
    assert (await ana.look(agent_id))["retriesLeft"] == 2


async def test_after_three_retries_over_all_its_jobs_support_must_act(ana: User, world: World) -> None:
    agent_id = await failed(ana, world)
    for _ in range(3):
        assert (await ana.retry(agent_id)).status_code == 202
        await fail_again(world)

    answer = await ana.retry(agent_id)

    assert answer.status_code == 409
    assert "retried 3 times: please contact support" in answer.json()["error"]
    assert (await ana.look(agent_id))["retriesLeft"] == 0
    assert len(jobs()) == 4


async def test_the_engine_holds_the_cap_too_and_counts_over_the_agent() -> None:
    assert (provision.settings.manual_retries, provision.settings.manual_retries_per) == (3, "subject")


@pytest.mark.parametrize(("text", "retries"), [(None, 3), ("3", 3), ("4", 4), ("5", 5)])
def test_three_to_five_retries_are_configurable(text: str | None, retries: int) -> None:
    given = {} if text is None else {"PROVISION_RETRIES": text}

    assert Settings.read(given).retries == retries


@pytest.mark.parametrize("text", ["2", "6", "many", ""])
def test_other_numbers_of_retries_are_refused(text: str) -> None:
    with pytest.raises(Configuration, match="must be 3 to 5"):
        Settings.read({"PROVISION_RETRIES": text})


def test_what_is_missing_is_said_when_the_server_starts() -> None:
    with pytest.raises(Configuration, match="STRIPE_SECRET_KEY, STRIPE_PRICE, MACHINES_URL"):
        refuse_missing(Settings.read({}))
    refuse_missing(
        replace(
            Settings.read({}),
            stripe_key="sk",
            stripe_price="price",
            machines_url="https://vm.example",
        )
    )


async def test_a_retry_is_refused_while_another_agent_is_in_progress_and_names_it(
    ana: User, world: World
) -> None:
    agent_id = await failed(ana, world)
    await ana.buy("Boreas")

    answer = await ana.retry(agent_id)

    assert answer.status_code == 409
    assert "'Boreas' is being provisioned" in answer.json()["error"]


async def test_of_two_retries_at_once_one_is_refused(ana: User, world: World) -> None:
    one = await failed(ana, world, "Atlas")
    other = await failed(ana, world, "Boreas")

    answers = await asyncio.gather(*(ana.retry(agent) for agent in (one, other, one, other)))

    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]


@pytest.mark.parametrize("action", ["completed", "heartbeat"])
async def test_only_a_failed_agent_can_be_retried(ana: User, world: World, action: str) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    await run.report(action)

    assert (await ana.retry(agent_id)).status_code == 409
    assert len(jobs()) == 1


async def test_where_the_clean_up_has_failed_for_good_support_must_act(
    ana: User, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_id = await failed(ana, world)
    monkeypatch.setenv("MACHINES_TOKEN", "revoked")
    await work()

    answer = await ana.retry(agent_id)

    assert answer.status_code == 409
    assert "cannot be retried: please contact support" in answer.json()["error"]


async def test_jobs_outlive_their_agent(ana: User, world: World, holdfast_db: ScratchDatabase) -> None:
    agent_id = await failed(ana, world)
    await work()

    rows("delete from agent_provisioning.subscription returning 1")
    rows("delete from agent_provisioning.agent returning 1")
    holdfast_db.clock.advance(10 * 365 * 86_400)
    await work()

    assert provision.settings.retention is None
    assert [job.payload["agent_id"] for job in jobs()] == [agent_id]
