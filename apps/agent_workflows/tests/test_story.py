"""The stories that the demo plays."""

from apps._stage import staged
from apps.agent_workflows import story
from holdfast.testing import ScratchDatabase


async def test_the_stories_come_true(holdfast_db: ScratchDatabase) -> None:
    with (
        story.world() as world,
        staged("agent_workflows", holdfast_db, world.environment) as stage,
        stage.worker(),
    ):
        told = [await story.happy(stage, world), await story.failing(stage, world)]

    assert all(line.startswith("agent workflows: ") for line in told)
