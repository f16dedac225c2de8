"""Workers are killed, GitHub and the provider misbehave, Stripe repeats itself: an agent has one machine, or none and says so."""

import asyncio
import random

import pytest

from apps._chaos import times
from apps._stage import Stage, staged, until
from apps._world.script import Script
from apps.agent_provisioning import story
from apps.agent_provisioning.app import app
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import rows
from holdfast.testing import ScratchDatabase

GITHUB = {"unavailable": 0.1, "lost": 0.15, "lost before": 0.05, "500 after": 0.1, "limited": 0.1}
MACHINES = {"unavailable": 0.15, "lost": 0.15}
KILLED = 2
GIVES_UP = 0.2
UNENDED = "status:pending,running,retry,waiting"


@pytest.mark.parametrize("seed", times(short=1, long=50))
async def test_an_agent_has_one_machine_or_none(seed: int, holdfast_db: ScratchDatabase) -> None:
    chance = random.Random(seed)
    with (
        story.world(Script(seed, GITHUB), Script(seed, MACHINES)) as world,
        staged("agent_provisioning", holdfast_db, world.environment) as stage,
    ):
        world.connect(stage)
        users = [User(stage, world, f"user-{number}") for number in range(3)]
        lives = asyncio.gather(*(live(user, world, chance) for user in users))
        for _ in range(KILLED):
            await kill_a_worker(stage, world, lives, chance)
            # Long enough to miss a worker, and a call to GitHub that it had begun; a run's silence is not.
            holdfast_db.clock.advance(100)
        world.github.script = world.machines.script = Script()  # the bad day ends, so that everything can
        with stage.worker():
            agents = await lives
            await until("all jobs have ended", lambda: not app.jobs(UNENDED).jobs)
        for run in world.github.runs:
            run.thread.join()

        for user, agent_id in zip(users, agents, strict=True):
            state = (await user.look(agent_id))["state"]
            assert len(world.machines.of(agent_id)) == (1 if state == "running" else 0), state
        assert rows("select count(*) from agent_provisioning.subscription") == [(len(users),)]


async def live(user: User, world: World, chance: random.Random) -> str:
    """Buy an agent, and retry until it runs, nobody may retry any more, or the user has had enough."""
    agent_id, event = await user.draft("Atlas")
    await world.stripe.deliver(event)
    await world.stripe.send(event, times=chance.randint(1, 3))
    while True:
        shown = await user.until(agent_id, "running", "failed")
        if shown["state"] == "running" or chance.random() < GIVES_UP:
            return agent_id
        if (await user.retry(agent_id)).is_client_error:
            return agent_id


async def kill_a_worker(
    stage: Stage, world: World, lives: asyncio.Future[list[str]], chance: random.Random
) -> None:
    """Let a worker call GitHub a few times, or have nothing left to do, and kill it."""
    enough = len(world.github.requests) + chance.randint(0, 4)
    with stage.worker() as worker:
        await until("it has worked", lambda: len(world.github.requests) >= enough or lives.done())
        worker.kill()
