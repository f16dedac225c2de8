from apps._stage import staged
from apps.workspace_access import story
from holdfast.testing import ScratchDatabase


async def test_both_stories(holdfast_db: ScratchDatabase) -> None:
    with (
        story.world() as world,
        staged("workspace_access", holdfast_db, world.environment) as stage,
        stage.worker(),
    ):
        assert await story.happy(stage, world)
        assert await story.failing(stage, world)
