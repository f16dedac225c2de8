"""Upkeep by workers: retention keeps up with what comes in."""

import asyncio

import pytest

from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.runtime import sweeper
from holdfast.testing import ScratchDatabase, adrain


async def test_a_worker_that_is_behind_with_retention_goes_on_until_it_is_not(
    app: Holdfast, holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.task(retention=60)
    async def report() -> None: ...

    await app.aenqueue_many([report.job() for _ in range(7)])
    await adrain(app)
    holdfast_db.clock.advance(61)
    monkeypatch.setattr(sweeper, "UPKEEP_BATCH", 2)

    worker = asyncio.create_task(app.run_worker(handle_signals=False))
    await asyncio.to_thread(until, "all are removed", lambda: holdfast_db.jobs() == [])

    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    await app.aclose()
