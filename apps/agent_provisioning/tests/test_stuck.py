"""Stuck jobs: found by whoever looks and by the sweep; slow ones are left alone."""

from apps._stage import until
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import hand_over, has_begun, jobs, work
from holdfast.testing import ScratchDatabase

SILENT = "Timeout: no heartbeat for 600 s"


async def test_reading_the_job_finds_that_it_is_stuck(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await ana.buy("Atlas")
    await (await hand_over(world)).report("started")

    holdfast_db.clock.advance(510)
    assert (await ana.look(agent_id))["state"] == "provisioning"
    holdfast_db.clock.advance(91)

    shown = await ana.look(agent_id)
    assert (shown["state"], shown["error"], shown["workflowRunId"]) == ("failed", SILENT, "7001")


async def test_the_sweep_finds_that_it_is_stuck_when_nobody_looks(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    await ana.buy("Atlas")
    await (await hand_over(world)).report("started")

    holdfast_db.clock.advance(601)
    await work()

    assert [(job.status, job.error and job.error["message"]) for job in jobs()] == [("FAILED", SILENT)]


async def test_silence_counts_from_the_dispatch_when_no_callback_came(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await ana.buy("Atlas")
    holdfast_db.clock.advance(5000)  # waiting for a worker is not silence
    await hand_over(world)

    holdfast_db.clock.advance(510)
    assert (await ana.look(agent_id))["state"] == "provisioning"
    holdfast_db.clock.advance(91)
    assert (await ana.look(agent_id))["error"] == SILENT


async def test_silence_counts_from_the_last_callback_and_who_is_slow_but_alive_is_left_alone(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    await run.report("started")
    for _ in range(2):
        holdfast_db.clock.advance(360)
        await work()
        assert await run.report("heartbeat") == 200

    assert (await ana.look(agent_id))["state"] == "provisioning"
    assert await run.report("completed") == 200
    assert (await ana.look(agent_id))["state"] == "running"


async def test_a_whole_run_takes_fifteen_minutes_at_most(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    await run.report("started")
    holdfast_db.clock.advance(450)
    await run.report("heartbeat")

    holdfast_db.clock.advance(451)

    assert (await ana.look(agent_id))["error"] == "Timeout: the run took longer than 900 s"


async def test_a_run_that_vanished_is_cancelled_and_its_machine_is_deleted(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    world.github.machine = "sleep 60"
    agent_id = await ana.buy("Atlas")
    await work()
    # What the run says later than the clock's leap would count as a sign of life.
    await until("the run has said that it began", has_begun)
    world.github.runs[0].vanish()
    world.machines.running["vm-1"] = {"id": "vm-1", "name": agent_id, "region": "fsn1"}

    holdfast_db.clock.advance(601)
    assert (await ana.look(agent_id))["state"] == "failed"
    await work()  # cancels the run, which turns out to have ended
    await work()

    assert world.github.cancelled == [1001]
    assert world.machines.deleted == ["vm-1"]
    assert [job.status for job in jobs()] == ["FAILED"]
