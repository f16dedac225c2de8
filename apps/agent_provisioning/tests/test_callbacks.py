"""Callbacks: what a run says, and what strangers, latecomers and copies can say."""

import json
import time
from dataclasses import replace
from uuid import uuid4

from apps._stage import Stage
from apps._world.serving import served
from apps.agent_provisioning.app import app, workflow
from apps.agent_provisioning.settings import Settings
from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import Attempt, hand_over, jobs, plain, send, take_all, work


async def test_a_run_reports_its_id_and_its_heartbeats_and_then_that_the_machine_runs(
    ana: User, world: World
) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)

    assert await run.report("started") == 200
    shown = await ana.look(agent_id)
    assert (shown["state"], shown["workflowRunId"]) == ("provisioning", "7001")
    assert [await run.report("heartbeat"), await run.report("completed")] == [200, 200]
    shown = await ana.look(agent_id)
    assert (shown["state"], shown["error"], shown["failedStep"]) == ("running", None, None)


async def test_a_failed_run_leaves_its_error_its_step_and_its_id(ana: User, world: World) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    await run.report("started")

    assert await run.report("failed", message="no quota in fsn1", step="create the machine") == 200

    shown = await ana.look(agent_id)
    assert (shown["state"], shown["error"]) == ("failed", "no quota in fsn1")
    assert (shown["failedStep"], shown["workflowRunId"]) == ("create the machine", "7001")


async def test_a_wrong_or_missing_signature_and_an_unknown_job_get_the_same_answer(
    ana: User, world: World
) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    body = run.body("completed")
    unknown = Attempt({"callback_url": run.url.replace(run.job_id, str(uuid4()))}, run.secret)
    stranger = Attempt({"callback_url": run.url}, "not the secret of this repository at all")
    about = unknown.body("completed")

    answers = [
        await send(run.url, body, {}),
        await send(run.url, body, stranger.headers(body)),
        await send(unknown.url, about, {}),
        await send(unknown.url, about, unknown.headers(about)),  # the right secret, and no such job
        await send(run.url, body, {"X-Signature": "0" * 64}),
    ]

    assert {(answer.status_code, answer.text) for answer in answers} == {
        (401, '{"ok":false,"code":"unauthorized"}')
    }
    assert (await ana.look(agent_id))["state"] == "provisioning"


async def test_one_jobs_key_cannot_speak_for_another(ana: User, ben: User, world: World) -> None:
    await ana.buy("Atlas")
    await ben.buy("Boreas")
    one, other = await take_all(world, 2)
    body = other.body("completed")

    assert (await send(other.url, body, one.headers(body))).status_code == 401
    assert {job.status for job in jobs()} == {"RUNNING"}


async def test_a_captured_callback_cannot_be_replayed_later(ana: User, world: World) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    body = run.body("completed")

    captured = run.headers(body, at=time.time() - 400)

    assert (await send(run.url, body, captured)).status_code == 401
    assert (await ana.look(agent_id))["state"] == "provisioning"


async def test_the_same_callback_twice_changes_nothing(ana: User, world: World) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    body = run.body("failed", message="no quota", step="create the machine")
    headers = run.headers(body)

    answers = [(await send(run.url, body, headers)).status_code for _ in range(2)]

    assert answers == [200, 200]
    assert [job.status for job in jobs()] == ["FAILED"]
    assert (await ana.look(agent_id))["error"] == "no quota"


async def test_a_late_provisioning_after_running_is_refused_and_changes_nothing(
    ana: User, world: World
) -> None:
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    await run.report("completed")
    before = await ana.look(agent_id)

    assert [await run.report("started"), await run.report("failed")] == [409, 409]
    assert await ana.look(agent_id) == before


async def test_of_two_runs_for_one_attempt_the_second_stops_before_it_creates_anything(
    ana: User, world: World
) -> None:
    world.github.machine = "sleep 60"
    agent_id = await ana.buy("Atlas")
    await work()
    await ana.until(agent_id, "provisioning")
    world.github.machine = None

    second = world.github.start_run(world.github.dispatches()[0]["inputs"])
    second.thread.join(30)

    assert second.conclusion == "failure"
    assert "create the machine" not in second.ran
    assert world.machines.of(agent_id) == []
    assert (await ana.look(agent_id))["state"] == "provisioning"


def old_body(run: Attempt, status: str) -> bytes:
    told = {"job_id": run.job_id, "status": status, "workflow_run_id": 9}
    return json.dumps({**told, "error": "no quota", "failed_step": "create vm"}).encode()


async def test_a_plain_body_signature_is_refused_unless_it_is_configured(ana: User, world: World) -> None:
    await ana.buy("Atlas")
    run = await hand_over(world)
    body = old_body(run, "running")

    assert (await send(run.url, body, plain(run.secret, body))).status_code == 401


async def test_old_workflows_report_with_a_plain_body_signature_where_it_is_configured(
    ana: User, world: World, stage: Stage
) -> None:
    from apps.agent_provisioning import web  # noqa: PLC0415 - its doors read their secrets when it is imported

    app.executors["github"] = workflow(replace(Settings.read(), plain_signature=True))
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)

    with served(web.application()) as url:
        address = run.url.replace(stage.url, url)
        for status in ("provisioning", "failed"):
            body = old_body(run, status)
            wrong = await send(address, body, plain(run.secret + "x", body))
            answer = await send(address, body, plain(run.secret, body))
            assert (wrong.status_code, answer.status_code) == (401, 200)
            assert (await ana.look(agent_id))["state"] == status
        late = old_body(run, "provisioning")
        assert (await send(address, late, plain(run.secret, late))).status_code == 409
    shown = await ana.look(agent_id)
    assert (shown["error"], shown["failedStep"], shown["workflowRunId"]) == ("no quota", "create vm", "9")
