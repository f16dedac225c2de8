"""The delivered workflow and script, run for real: shell, curl and openssl."""

from apps._stage import until
from apps._world.workflow import FOLDER, SCRIPT, read_workflow
from apps.agent_provisioning.story import WORKFLOW, User, World
from apps.agent_provisioning.tests.hands import engine_rows, jobs, work


async def test_the_workflow_builds_one_machine_in_its_region_and_says_that_it_runs(
    ana: User, world: World
) -> None:
    agent_id = await ana.buy("Atlas", "hel1")
    await work()

    shown = await ana.until(agent_id, "running")

    (machine,) = world.machines.of(agent_id)
    assert (machine["region"], shown["workflowRunId"]) == ("hel1", "1001")
    assert [job.result for job in jobs()] == [machine]


async def test_the_workflow_beats_in_the_background_while_the_machine_is_built(
    ana: User, world: World
) -> None:
    world.github.beat = 0.1
    world.github.machine = (
        "until [ -f $RUNNER_TEMP/go ]; do sleep 0.05; done; echo 'result={}' >>\"$GITHUB_OUTPUT\""
    )
    agent_id = await ana.buy("Atlas")
    await work()
    await ana.until(agent_id, "provisioning")

    beats = "select count(*) from holdfast.activity where kind = 'callback.heartbeat'"
    await until("it has beaten twice", lambda: engine_rows(beats)[0][0] >= 2)
    (world.github.runs[0].folder / "temp" / "go").touch()

    await ana.until(agent_id, "running")


async def test_the_workflow_says_which_step_failed_and_why_and_its_orphan_is_deleted(
    ana: User, world: World
) -> None:
    world.machines.script.tell("lost")
    agent_id = await ana.buy("Atlas")
    await work()

    shown = await ana.until(agent_id, "failed")
    assert shown["failedStep"] == "create the machine"
    assert shown["error"].startswith("curl: ")
    assert len(world.machines.of(agent_id)) == 1
    await work()

    assert world.machines.of(agent_id) == []


def test_the_workflow_has_four_inputs_fifteen_minutes_and_a_name_to_be_found_by() -> None:
    workflow = read_workflow(WORKFLOW)

    assert workflow.inputs == ["job_id", "agent_id", "region", "callback_url"]
    assert workflow.timeout_minutes == 15
    assert "inputs.callback_url" in workflow.run_name
    assert any("beat 60" in (step.script or "") for step in workflow.steps)


def test_no_input_is_ever_part_of_a_script() -> None:
    assert [step.name for step in read_workflow(WORKFLOW).steps if "${{" in (step.script or "")] == []


def test_the_callback_script_is_a_file_of_its_own_that_any_ci_system_can_use() -> None:
    text = SCRIPT.read_text("utf-8")

    assert SCRIPT.parent == FOLDER
    assert text.startswith("#!/bin/sh\n")
    assert "GITHUB_" not in text
