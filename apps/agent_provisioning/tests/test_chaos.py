"""Workers are killed, GitHub and the provider misbehave, Stripe repeats itself: an agent has one machine, or none and says so."""

import asyncio
import random

import pytest

from apps._chaos import times
from apps._stage import Stage, staged
from apps._world.script import Script
from apps.agent_provisioning import story
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import engine_rows, rows
from holdfast.testing import ScratchDatabase

GITHUB = {"unavailable": 0.1, "lost": 0.15, "lost before": 0.05, "500 after": 0.1, "limited": 0.1}
MACHINES = {"unavailable": 0.15, "lost": 0.15}
QUICK = ("--lease", "2")  # a worker that was killed is missed after two seconds
UNENDED = "select count(*) from holdfast.job where finished_at is null"


async def live(user: User, world: World, chance: random.Random) -> str:
    """Buy an agent, and retry for as long as it is allowed."""
    agent_id, event = await user.draft("Atlas")
    await world.stripe.deliver(event)
    await world.stripe.send(event, times=chance.randint(1, 3))
    while True:
        shown = await user.until(agent_id, "running", "failed")
        if shown["state"] == "running" or (await user.retry(agent_id)).is_client_error:
            return agent_id


async def kill_workers(stage: Stage, chance: random.Random) -> None:
    for _ in range(3):
        with stage.worker(*QUICK) as worker:
            await asyncio.sleep(chance.uniform(0.5, 2.0))
            worker.kill()


async def let_time_pass(database: ScratchDatabase) -> None:
    """Nobody waits a minute and a half here for a call that a dead worker had begun; a run's silence is not reached."""
    for _ in range(5):
        await asyncio.sleep(4)
        database.clock.advance(100)


@pytest.mark.parametrize("seed", times(short=2, long=50))
async def test_an_agent_has_one_machine_or_none(seed: int, holdfast_db: ScratchDatabase) -> None:
    chance = random.Random(seed)
    with (
        story.world(Script(seed, GITHUB), Script(seed, MACHINES)) as world,
        staged("agent_provisioning", holdfast_db, world.environment) as stage,
        stage.worker(*QUICK),
    ):
        world.connect(stage)
        users = [User(stage, world, f"user-{number}") for number in range(4)]
        passing = asyncio.create_task(let_time_pass(holdfast_db))
        killing = asyncio.create_task(kill_workers(stage, chance))
        agents = await asyncio.gather(*(live(user, world, chance) for user in users))
        await killing
        await stage.until("all jobs have ended", lambda: engine_rows(UNENDED) == [(0,)])
        passing.cancel()

        for user, agent_id in zip(users, agents, strict=True):
            state = (await user.look(agent_id))["state"]
            assert len(world.machines.of(agent_id)) == (1 if state == "running" else 0), state
        assert rows("select count(*) from agent_provisioning.subscription") == [(len(users),)]
