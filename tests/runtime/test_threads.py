import asyncio
import threading

import pytest

from holdfast.runtime.threads import InTurn


async def test_a_function_that_was_given_up_keeps_its_place_until_it_ends() -> None:
    turns, let_go = InTurn(1), threading.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await turns.run(let_go.wait)

    after_it = asyncio.create_task(turns.run(lambda: "ran"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await asyncio.shield(after_it)
    let_go.set()

    assert await after_it == "ran"
