"""One provision at a time per user, and as many users at once as there are."""

import asyncio

from apps._stage import Stage
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import hand_over, jobs, take_all


async def test_a_paid_event_that_comes_while_another_provision_runs_waits_its_turn(
    ana: User, world: World
) -> None:
    (first, one), (second, two) = await ana.draft("Atlas"), await ana.draft("Boreas")
    await world.stripe.deliver(one)
    await world.stripe.deliver(two)

    (run,) = await take_all(world, 2)
    assert [(await ana.look(agent))["state"] for agent in (first, second)] == ["provisioning", "queued"]
    await run.report("completed")
    await hand_over(world)

    assert [(await ana.look(agent))["state"] for agent in (first, second)] == ["running", "provisioning"]


async def test_a_failed_provision_lets_the_next_one_of_its_user_begin(ana: User, world: World) -> None:
    (_, one), (second, two) = await ana.draft("Atlas"), await ana.draft("Boreas")
    await world.stripe.deliver(one)
    await world.stripe.deliver(two)
    (run,) = await take_all(world, 2)

    await run.report("failed")
    await hand_over(world)

    assert (await ana.look(second))["state"] == "provisioning"


async def test_different_users_run_in_parallel_and_there_is_no_cap_over_all(
    stage: Stage, world: World
) -> None:
    users = [User(stage, world, f"user-{number}") for number in range(12)]
    await asyncio.gather(*(user.buy("Atlas") for user in users))

    runs = await take_all(world, 12)

    assert len(runs) == 12
    assert {job.status for job in jobs()} == {"RUNNING"}


async def test_the_dashboard_shows_machine_states_only(ana: User, world: World) -> None:
    agent_id, event = await ana.draft("Atlas")
    shown = [(await ana.look(agent_id))["state"]]
    await world.stripe.deliver(event)
    shown.append((await ana.look(agent_id))["state"])
    run = await hand_over(world)
    shown.append((await ana.look(agent_id))["state"])
    await run.report("failed")
    shown.append((await ana.look(agent_id))["state"])
    await ana.retry(agent_id)
    shown.append((await ana.look(agent_id))["state"])
    again = await hand_over(world)
    await again.report("completed")
    shown.append((await ana.look(agent_id))["state"])

    assert shown == ["draft", "queued", "provisioning", "failed", "queued", "running"]
