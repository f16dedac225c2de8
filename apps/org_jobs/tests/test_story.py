"""The stories that the demo plays."""

from apps._stage import staged
from apps.org_jobs import story
from holdfast.testing import ScratchDatabase


async def test_both_stories_are_true(holdfast_db: ScratchDatabase) -> None:
    with (
        story.world() as world,
        staged("org_jobs", holdfast_db, world.environment) as stage,
        stage.worker(),
    ):
        assert "saw only their own" in await story.happy(stage, world)
        assert "attempt 2" in await story.failing(stage, world)
