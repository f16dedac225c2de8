import asyncio
import threading

import pytest

from holdfast.runtime.threads import InTurn, Threads


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


def test_a_thread_that_is_busy_when_the_others_are_closed_ends_with_what_it_does() -> None:
    threads, let_go = Threads(), threading.Event()

    def work() -> threading.Thread:
        let_go.wait()
        return threading.current_thread()

    begun = threads.submit(work)
    threads.close()
    let_go.set()
    begun.result().join(timeout=5)

    assert not begun.result().is_alive()
