"""The demo's two stories, with a worker in a process of its own."""

from apps._stage import Stage, staged
from apps.agent_provisioning import story
from apps.agent_provisioning.story import World
from holdfast.testing import ScratchDatabase


async def test_the_stories_come_true(stage: Stage, world: World) -> None:
    with stage.worker():
        assert "one machine in hel1" in await story.happy(stage, world)
        assert "orphan was deleted" in await story.failing(stage, world)


def test_the_tables_can_be_made_twice(holdfast_db: ScratchDatabase, world: World) -> None:
    for _ in range(2):
        with staged("agent_provisioning", holdfast_db, world.environment):
            pass
