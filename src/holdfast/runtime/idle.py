"""When a worker that was told to work until idle is idle."""

import asyncio
from collections.abc import Sequence

from holdfast.runtime.dispatcher import Dispatcher
from holdfast.runtime.lane import Lane
from holdfast.runtime.runner import Runner
from holdfast.runtime.sweeper import Sweeper


async def until_idle(runner: Runner, lanes: Sequence[Lane], sweeper: Sweeper, dispatcher: Dispatcher) -> None:
    """Wait until nothing is held and, looked at once more after that, nothing is due, nobody is to be called and every line is empty."""
    looked = False
    while True:
        await asyncio.sleep(0.005)
        if runner.held or not all(lane.is_dry.is_set() for lane in lanes):
            looked = False
        elif looked:
            return
        else:  # the last job, or the word that it has stopped, may have made others ready
            await runner.until_written()
            looked = await sweeper.admit() == 0 and await dispatcher.is_idle()
            for lane in lanes:
                lane.look_again()
