"""Step 4 of the wizard: a draft and a checkout in one action, or a refusal before money is taken."""

import httpx
import pytest

from apps._stage import Stage
from apps._world.serving import NO_TLS
from apps.agent_provisioning.story import PRICE, User, World
from apps.agent_provisioning.tests.hands import hand_over, jobs, rows
from holdfast.testing import ScratchDatabase


async def test_step_4_makes_a_draft_and_returns_a_checkout_url_in_one_action(ana: User, world: World) -> None:
    answer = await ana.finish_wizard("Atlas")

    assert answer.status_code == 201
    assert answer.json()["checkoutUrl"].startswith(f"{world.stripe.url}/pay/cs_test_")
    assert (await ana.look(answer.json()["agentId"]))["state"] == "draft"
    assert jobs() == []


async def test_the_checkout_session_says_who_pays_for_what(ana: User, world: World, stage: Stage) -> None:
    agent_id, _ = await ana.draft("Atlas")

    (session,) = world.stripe.sessions.values()
    assert session["metadata"] == {"agentId": agent_id, "userId": "ana"}
    assert (session["mode"], session["customer"]) == ("subscription", "cus_ana")
    assert session["line_items"] == {"0": {"price": PRICE, "quantity": "1"}}
    assert session["success_url"] == f"{stage.url}/agents/{agent_id}"
    assert session["cancel_url"] == f"{stage.url}/wizard/4"


async def test_the_agent_and_its_job_carry_the_region(ana: User) -> None:
    agent_id = await ana.buy("Atlas", "hel1")

    (job,) = jobs()
    assert job.payload == {"agent_id": agent_id, "user_id": "ana", "region": "hel1"}
    assert (await ana.look(agent_id))["region"] == "hel1"


async def test_there_is_no_deploy_button(ana: User) -> None:
    agent_id, _ = await ana.draft("Atlas")

    assert (await ana.ask("POST", f"/api/agents/{agent_id}/provision")).status_code == 405
    assert (await ana.retry(agent_id)).status_code == 409
    assert jobs() == []


@pytest.mark.parametrize("state", ["queued", "provisioning"])
async def test_a_second_agent_is_refused_before_money_is_taken_and_the_first_is_named(
    ana: User, world: World, state: str
) -> None:
    first = await ana.buy("Atlas")
    if state == "provisioning":
        await hand_over(world)
    assert (await ana.look(first))["state"] == state

    answer = await ana.finish_wizard("Boreas")

    assert answer.status_code == 409
    assert "'Atlas' is being provisioned" in answer.json()["error"]
    assert len(world.stripe.sessions) == 1
    assert rows("select count(*) from agent_provisioning.agent") == [(1,)]


async def test_a_stuck_agent_does_not_keep_its_user_from_another(
    ana: User, world: World, holdfast_db: ScratchDatabase
) -> None:
    await ana.buy("Atlas")
    await hand_over(world)

    holdfast_db.clock.advance(601)

    assert (await ana.finish_wizard("Boreas")).status_code == 201


async def test_without_stripe_there_is_no_draft(ana: User, world: World) -> None:
    world.stripe.script.tell(*["unavailable"] * 9)  # Stripe's library asks more than once

    answer = await ana.finish_wizard("Atlas")

    assert (answer.status_code, answer.json()) == (
        502,
        {"error": "payments are not available now: please try again"},
    )
    assert rows("select count(*) from agent_provisioning.agent") == [(0,)]


@pytest.mark.parametrize("body", [None, {}, {"name": "", "region": "fsn1"}, {"name": "A", "region": "$(rm)"}])
async def test_choices_that_make_no_sense_are_refused(ana: User, body: object) -> None:
    assert (await ana.ask("POST", "/api/wizard/4", body)).status_code == 422


async def test_an_agent_is_its_users_own(ana: User, ben: User, stage: Stage) -> None:
    agent_id, _ = await ana.draft("Atlas")

    assert (await ben.ask("GET", f"/api/agents/{agent_id}/provision")).status_code == 404
    assert (await ben.retry(agent_id)).status_code == 404
    async with httpx.AsyncClient(verify=NO_TLS) as nobody:
        answer = await nobody.get(f"{stage.url}/api/agents/{agent_id}/provision")
    assert answer.status_code == 401
