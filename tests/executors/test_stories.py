"""From ctx.dispatch to the end of the job: a real worker, the delivered workflow and script, the real door."""

import asyncio
import time
from datetime import timedelta

import pytest

from executors.stage import Stage
from guarantees.waiting import until
from holdfast import BadInput, Context, Holdfast, JobFailed, Status, SyncContext
from holdfast.domain.callback import Token
from holdfast.testing import crash_at
from world.draining import drain


def declare(app: Holdfast, **settings: object) -> None:
    @app.task(name="provision", **settings)  # type: ignore[arg-type]
    async def provision(ctx: Context, agent_id: str) -> None:
        await ctx.dispatch("github", agent_id=agent_id, region="fsn1")
        raise AssertionError("dispatch does not return")


def start(stage: Stage, **settings: object) -> Token:
    """Enqueue a job and let a worker hand it over."""
    declare(stage.app, **settings)
    handle = stage.app.tasks["provision"].enqueue("a-1")
    drain(stage.app)
    row = stage.machine.job(handle.id)
    return Token(handle.id, row["attempt"], row["claim_id"])


def test_a_run_that_succeeds_completes_the_job_with_its_result(stage: Stage) -> None:
    stage.github.beat = 0.1
    stage.github.machine = (
        'sleep 0.5; echo "result={\\"ip\\":\\"203.0.113.9\\",\\"agent\\":\\"$AGENT_ID\\"}" >>"$GITHUB_OUTPUT"'
    )
    token = start(stage)

    assert stage.app.handle(token.job_id).result(timeout=30) == {"ip": "203.0.113.9", "agent": "a-1"}
    kinds = [
        row["kind"]
        for row in stage.machine.rows(
            "select kind from holdfast.activity where job_id = %s order by id", token.job_id
        )
    ]
    assert kinds[:2] == ["dispatch.planned", "dispatch.sent"] or kinds[1] == "callback.started"
    assert kinds.count("callback.heartbeat") >= 1
    assert kinds[-1] == "callback.completed"
    assert stage.machine.history(token.job_id)[-1]["actor"] == "executor:github"


def test_who_finds_a_job_sees_its_run(stage: Stage) -> None:
    token = stage.hand_over()
    planned = stage.app.jobs(f"id:{token.job_id}").jobs[0].run
    stage.report(token, "started", run_id="7001", run_url="https://ci.example/7001")

    (job,) = stage.app.jobs(f"id:{token.job_id}").jobs

    assert planned == {"executor": "github", "state": "planned", "id": None, "url": None}
    assert job.run == {"executor": "github", "state": "sent", "id": "7001", "url": "https://ci.example/7001"}


def test_a_run_that_fails_fails_the_job_with_its_step_and_its_run(stage: Stage) -> None:
    stage.github.machine = 'echo "step=create the machine" >>"$GITHUB_ENV"; exit 3'
    token = start(stage, retries=0)

    with pytest.raises(JobFailed, match="the workflow failed"):
        stage.app.handle(token.job_id).result(timeout=30)
    error = stage.job(token)["error"]
    assert (error["step"], error["run_id"], error["executor"]) == ("create the machine", "1001", "github")
    assert error["run_url"] == "https://github.example/acme/agents/actions/runs/1001"


def test_a_failed_run_is_dispatched_again_within_the_jobs_retries_under_a_new_token(stage: Stage) -> None:
    stage.github.machine = "exit 3"
    first = start(stage, retries=1, backoff=[0])
    until("the run failed", lambda: stage.status(first) is Status.RETRY)

    stage.github.machine = None
    drain(stage.app)

    until("the second run completed", lambda: stage.status(first) is Status.COMPLETED)
    one, two = (body["inputs"]["callback_url"] for body in stage.github.dispatches())
    assert one != two
    assert stage.report(first, "heartbeat", run_id="1001").json() == {"ok": False, "code": "stale_attempt"}


def test_of_two_runs_for_one_attempt_the_second_stops_before_it_creates_anything(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = start(stage)
    until("the first run has reported", lambda: stage.dispatch(token)["run_id"])

    stage.github.machine = 'touch "$RUNNER_TEMP/created"'
    second = stage.github.start_run(stage.github.dispatches()[0]["inputs"])
    second.thread.join(30)

    assert second.conclusion == "failure"
    assert "other_run" in second.output
    assert "create the machine" not in second.ran
    assert stage.status(token) is Status.RUNNING


def test_a_run_that_vanishes_is_noticed_and_cancelled(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = start(stage, retries=0)
    until("the run has reported", lambda: stage.dispatch(token)["run_id"])
    stage.github.runs[0].vanish()

    stage.database.clock.advance(timedelta(seconds=601))

    with pytest.raises(JobFailed, match="Timeout: no heartbeat for 600 s"):
        stage.app.handle(token.job_id).result(timeout=5)
    drain(stage.app)
    assert stage.github.cancelled == [1001]


def test_limits_are_the_tasks_own(stage: Stage) -> None:
    stage.github.machine = "sleep 60"
    token = start(stage, retries=0, heartbeat_limit=timedelta(hours=2), run_limit=3600)
    until("the run has reported", lambda: stage.dispatch(token)["run_id"])

    stage.database.clock.advance(3500)
    assert stage.app.handle(token.job_id).status() is Status.RUNNING
    stage.database.clock.advance(200)

    with pytest.raises(JobFailed, match="Timeout: the run took longer than 3600 s"):
        stage.app.handle(token.job_id).result(timeout=5)


def test_a_task_that_is_not_async_hands_over_too(stage: Stage) -> None:
    @stage.app.task()
    def provision(ctx: SyncContext) -> None:
        ctx.dispatch(stage.app.executors["github"], agent_id="a-2", region="hel1")

    handle = provision.enqueue()
    drain(stage.app)

    assert handle.result(timeout=30) == {"agent_id": "a-2", "region": "hel1"}


def test_an_executor_that_nobody_registered_is_named(stage: Stage) -> None:
    @stage.app.task(retries=0)
    async def provision(ctx: Context) -> None:
        await ctx.dispatch("gitlab")

    handle = provision.enqueue()
    drain(stage.app)

    with pytest.raises(JobFailed, match=r"no executor 'gitlab' is registered.*there are: github"):
        handle.result(timeout=5)


def test_a_dispatch_inside_a_step_is_refused(stage: Stage) -> None:
    @stage.app.task(retries=0)
    async def provision(ctx: Context) -> None:
        async def inside() -> None:
            await ctx.dispatch("github")

        with pytest.raises(BadInput, match="inside step 'outer'"):
            await ctx.step("outer", inside)

    handle = provision.enqueue()
    drain(stage.app)

    handle.result(timeout=5)


@pytest.mark.parametrize("point", ["dispatch_taken", "dispatch_called"])
def test_a_worker_that_dies_while_it_calls_leaves_one_run_and_a_job_that_completes(
    stage: Stage, point: str
) -> None:
    declare(stage.app)
    stage.github.names_runs = False
    handle = stage.app.tasks["provision"].enqueue("a-1")

    with crash_at(point):  # type: ignore[arg-type]
        drain(stage.app)
    assert handle.status() in {Status.RUNNING, Status.COMPLETED}
    stage.database.clock.advance(91)
    drain(stage.app)

    assert handle.result(timeout=30) == {"agent_id": "a-1", "region": "fsn1"}
    assert len(stage.github.runs) == 1
    assert stage.machine.job(handle.id)["attempt"] == 1


def test_a_worker_takes_an_executors_call_at_once(stage: Stage) -> None:
    """A notice wakes whoever can call; without it the next poll would."""
    import threading

    from holdfast.runtime.loop import run
    from holdfast.runtime.worker import Worker

    stage.github.machine = "sleep 60"
    declare(stage.app)
    workers: list[Worker] = []

    async def work() -> None:
        workers.append(Worker(stage.app, handle_signals=False, poll=30.0))
        await workers[0].run()

    thread = threading.Thread(target=lambda: run(work()))
    thread.start()
    try:
        until("the worker listens", lambda: workers and workers[0]._wakeup.is_listening.is_set())
        began = time.monotonic()
        stage.app.tasks["provision"].enqueue("a-1")
        until("the executor was called", lambda: stage.github.runs, within=15)
        assert time.monotonic() - began < 15
    finally:
        workers[0].stop()
        thread.join(30)


def test_a_compensation_begins_when_the_cancelled_run_has_stopped(stage: Stage) -> None:
    undone: list[str] = []

    async def undo(agent_id: str) -> None:
        undone.append(agent_id)

    stage.github.machine = "sleep 60"
    token = start(stage, compensate=undo, compensate_on_cancel=True)
    until("the run has reported", lambda: stage.dispatch(token)["run_id"])

    stage.app.cancel(token.job_id)
    (held,) = stage.machine.rows("select held_by from holdfast.job where compensates = %s", token.job_id)
    assert held["held_by"] == f"run:{stage.dispatch(token)['id']}"
    drain(stage.app)
    until("the run reported its end", lambda: stage.dispatch(token)["ended_at"])
    drain(stage.app)

    assert undone == ["a-1"]


def test_a_compensation_of_a_run_that_failed_begins_at_once(stage: Stage) -> None:
    undone: list[str] = []

    async def undo(agent_id: str) -> None:
        undone.append(agent_id)

    stage.github.machine = "exit 1"
    token = start(stage, retries=0, compensate=undo)
    until("the run failed", lambda: stage.status(token) is Status.FAILED)
    drain(stage.app)

    assert undone == ["a-1"]


def test_a_worker_outlives_a_database_that_refuses_its_dispatcher(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.runtime import dispatcher
    from holdfast.runtime.loop import run
    from holdfast.runtime.worker import Worker

    monkeypatch.setattr(dispatcher, "REFUSED_PAUSE", 0.1, raising=False)
    token = stage.hand_over()
    stage.owner.execute("alter function holdfast.take_dispatches rename to taken_away")

    async def work() -> None:
        worker = Worker(stage.app, handle_signals=False, poll=0.1)
        working = asyncio.create_task(worker.run())
        await asyncio.to_thread(until, "it was refused", lambda: "dispatch:refused" in caplog.messages)
        stage.owner.execute("alter function holdfast.taken_away rename to take_dispatches")
        await asyncio.to_thread(until, "it is sent", lambda: stage.dispatch(token)["sent_at"])
        worker.stop()
        await working

    run(asyncio.wait_for(work(), 30))

    assert stage.dispatch(token)["sent_at"] is not None
