"""The product on a stage of the test's own, with Stripe, GitHub and the provider of machines around it."""

from collections.abc import Iterator

import pytest

from apps._stage import Stage, staged
from apps.agent_provisioning import story
from apps.agent_provisioning.app import app, workflow
from apps.agent_provisioning.settings import Settings
from apps.agent_provisioning.story import User, World
from holdfast.testing import ScratchDatabase


@pytest.fixture
def world() -> Iterator[World]:
    with story.world() as world:
        yield world


@pytest.fixture
def stage(holdfast_db: ScratchDatabase, world: World) -> Iterator[Stage]:
    with staged("agent_provisioning", holdfast_db, world.environment) as stage:
        app.executors["github"] = workflow(Settings.read())  # this test's GitHub
        world.connect(stage)
        yield stage
        for run in world.github.runs:
            run.vanish()


@pytest.fixture
def ana(stage: Stage, world: World) -> User:
    return User(stage, world, "ana")


@pytest.fixture
def ben(stage: Stage, world: World) -> User:
    return User(stage, world, "ben")
