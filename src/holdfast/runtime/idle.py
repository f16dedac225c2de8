"""When a worker that was told to work until idle is idle."""

import asyncio
from collections.abc import Sequence

from holdfast.runtime.dispatcher import Dispatcher
from holdfast.runtime.lane import Lane
from holdfast.runtime.runner import Runner
from holdfast.runtime.sweeper import Sweeper

LOOK_EVERY = 0.005


async def until_idle(runner: Runner, lanes: Sequence[Lane], sweeper: Sweeper, dispatcher: Dispatcher) -> None:
    """Wait until nothing is held and, looked at once more after that, nothing is due, nobody is to be called and every line is empty."""
    while True:
        await _until_dry(runner, lanes)
        await runner.until_written()
        ended = _ended(lanes)
        # The last job, or the word that it has stopped, may have made others ready.
        nothing_is_due = await sweeper.admit() == 0 and await dispatcher.is_idle()
        for lane in lanes:
            lane.look_again()
        # However long these looks take: on a busy machine no line is found empty between two of ours.
        await _until_dry(runner, lanes)
        if nothing_is_due and _ended(lanes) == ended:
            return


async def _until_dry(runner: Runner, lanes: Sequence[Lane]) -> None:
    while runner.held or not all(lane.is_dry.is_set() for lane in lanes):  # noqa: ASYNC110 - lanes go dry and wet again
        await asyncio.sleep(LOOK_EVERY)


def _ended(lanes: Sequence[Lane]) -> int:
    return sum(lane.finished for lane in lanes)
