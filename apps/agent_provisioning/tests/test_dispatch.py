"""The call to GitHub: what is sent, what is tried again, and what is given up."""

import pytest
from starlette.responses import JSONResponse, Response

from apps._world.github import CALLBACK_SECRET, TOKEN
from apps.agent_provisioning.story import MASTER_KEY, User, World
from apps.agent_provisioning.tests.hands import hand_over, jobs, work
from holdfast.testing import ScratchDatabase


async def test_a_dispatch_is_what_githubs_api_wants_with_exactly_four_inputs(ana: User, world: World) -> None:
    agent_id = await ana.buy("Atlas", "hel1")
    run = await hand_over(world)

    ((method, path, headers, body),) = world.github.requests
    assert (method, path) == ("POST", "/repos/acme/agents/actions/workflows/provision-agent.yml/dispatches")
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert body["ref"] == "main"
    assert body["inputs"] == {
        "job_id": str(jobs()[0].id),
        "agent_id": agent_id,
        "region": "hel1",
        "callback_url": run.url,
    }


async def test_no_key_is_ever_an_input_and_the_repository_holds_a_key_for_this_executor_only(
    ana: User, world: World
) -> None:
    await ana.buy("Atlas")
    await hand_over(world)

    secret = world.github.known[CALLBACK_SECRET]
    sent = str(world.github.requests)
    assert secret not in sent
    assert MASTER_KEY not in sent
    assert MASTER_KEY not in secret


async def test_github_names_no_run_and_the_workflow_reports_its_id(ana: User, world: World) -> None:
    world.github.names_runs = False
    agent_id = await ana.buy("Atlas")
    run = await hand_over(world)
    assert (await ana.look(agent_id))["workflowRunId"] is None

    await run.report("started")

    shown = await ana.look(agent_id)
    assert (shown["state"], shown["workflowRunId"]) == ("provisioning", "7001")


LOST = [
    "unavailable",
    "lost before",
    "lost",
    "500 after",
    "limited",
    JSONResponse({"message": "limit"}, 403, {"x-ratelimit-remaining": "0"}),
]


@pytest.mark.parametrize("answer", LOST, ids=[*map(str, LOST[:-1]), "no calls left"])
async def test_a_lost_dispatch_is_shown_as_queued_and_made_again_after_looking_for_its_run(
    ana: User, world: World, holdfast_db: ScratchDatabase, answer: object
) -> None:
    world.github.machine = "sleep 60"
    world.github.names_runs = False
    world.github.answers.append(answer)
    agent_id = await ana.buy("Atlas")
    await work()
    if not world.github.runs:
        assert (await ana.look(agent_id))["state"] == "queued"

    holdfast_db.clock.advance(120)
    await work()

    await ana.until(agent_id, "provisioning")
    assert (
        len(world.github.runs) == 1
    )  # a run that was there was found by its name, and no second one started
    assert [job.status for job in jobs()] == ["RUNNING"]


NEEDS = "Actions: write, Contents: read and Metadata: read (a workflow's own GITHUB_TOKEN cannot dispatch)"
REFUSED = [
    (JSONResponse({"message": "Bad credentials"}, 401), ["does not accept the token", NEEDS]),
    (
        JSONResponse({"message": "Resource not accessible"}, 403),
        ["lacks actions=write on acme/agents", NEEDS],
    ),
    (JSONResponse({"message": "Not Found"}, 404), ["finds no workflow provision-agent.yml", NEEDS]),
    (JSONResponse({"message": "Unexpected inputs"}, 422), ["exactly the inputs that are sent"]),
]


@pytest.mark.parametrize(("answer", "words"), REFUSED, ids=["401", "403", "404", "422"])
async def test_what_github_refuses_for_good_fails_at_once_and_names_what_is_missing(
    ana: User, world: World, answer: Response, words: list[str]
) -> None:
    world.github.answers.append(answer)
    agent_id = await ana.buy("Atlas")

    await work()

    shown = await ana.look(agent_id)
    assert shown["state"] == "failed"
    assert [said for said in words if said not in shown["error"]] == []
    assert len(world.github.dispatches()) == 1
