"""The stories that the demo plays."""

from apps._stage import staged
from apps.booking_side_effects import story
from holdfast.testing import ScratchDatabase


async def test_both_stories_come_to_their_end(holdfast_db: ScratchDatabase) -> None:
    with (
        story.world() as world,
        staged("booking_side_effects", holdfast_db, world.environment) as stage,
        stage.worker(),
    ):
        said = [await story.happy(stage, world), await story.failing(stage, world)]

    assert ["1 invoice" in line for line in said] == [True, True]
