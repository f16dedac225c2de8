import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from apps.workspace_access import tasks
from apps.workspace_access.matches import Match, Side, Status, decided
from apps.workspace_access.tests.product import Product
from apps.workspace_access.trouble import Trouble

PREVIOUS = "select previous_status from workspace_access.matches where id = %s"


@pytest.mark.parametrize("order", [("client", "advisor"), ("advisor", "client")])
async def test_the_second_approval_finalizes_in_either_order(
    product: Product, order: tuple[str, str]
) -> None:
    given = await product.matched()

    first = (await product.decide(given, order[0])).json()
    second = (await product.decide(given, order[1])).json()

    alone = {"client": "client_approved", "advisor": "advisor_accepted"}[order[0]]
    assert first == {"success": True, "data": {"status": alone}}
    assert second == {"success": True, "data": {"status": "finalized", "workspaceProvisioning": "queued"}}
    assert len(product.database.jobs(task=tasks.provision_workspace)) == 1


@pytest.mark.parametrize("side", ["owner", "client", "advisor"])
def test_a_match_moves_only_as_it_may(side: Side) -> None:
    fresh = Match(
        id=uuid4(),
        project_id=uuid4(),
        advisor_id=uuid4(),
        owner_id=uuid4(),
        status=Status.PENDING,
        score=87.5,
        client_approved=False,
        advisor_accepted=False,
        has_expired=False,
        has_access=False,
        job_id=None,
    )
    alone = {"owner": Status.FINALIZED, "client": Status.CLIENT_APPROVED, "advisor": Status.ADVISOR_ACCEPTED}

    for status in Status:
        match = replace(fresh, status=status)
        if status in {Status.PENDING, Status.DECLINED, Status.LEFT}:
            with pytest.raises(Trouble, match="MATCH_CLOSED"):
                decided(match, side, approved=True)
        else:
            leads = Status.FINALIZED if status is Status.FINALIZED else alone[side]
            assert decided(match, side, approved=True) is leads
            assert decided(match, side, approved=False) is Status.DECLINED
    both = replace(fresh, status=Status.MATCHED, client_approved=True, advisor_accepted=True)
    assert decided(both, side, approved=True) is Status.FINALIZED


async def test_a_finalized_match_gives_access_by_itself(product: Product) -> None:
    given = await product.matched()
    await product.decide(given, "advisor")
    await product.decide(given, "client")

    await product.work()

    assert await product.has_access(given)


async def test_approvals_at_the_same_moment_finalize_once(product: Product) -> None:
    given = await product.matched()

    answers = await asyncio.gather(*(product.decide(given, side) for side in ("client", "advisor", "client")))

    assert "finalized" in [answer.json()["data"]["status"] for answer in answers]
    assert await product.status(given) == "finalized"
    assert len(product.database.jobs(task=tasks.provision_workspace)) == 1


async def test_every_change_of_status_captures_the_one_before(product: Product) -> None:
    given = await product.matched()

    captured = [await product.one(PREVIOUS, given.match)]
    for status in ("client_approved", "finalized", "client_approved"):
        update = "update workspace_access.matches set status = %s where id = %s"
        await product.rows(update, status, given.match)
        captured.append(await product.one(PREVIOUS, given.match))

    assert captured == ["pending", "matched", "client_approved", "finalized"]


async def test_a_change_that_is_none_captures_nothing(product: Product) -> None:
    given = await product.matched()

    await product.rows("update workspace_access.matches set status = status where id = %s", given.match)

    assert await product.one(PREVIOUS, given.match) == "pending"


async def test_declined_ends_the_match_with_its_reason_and_queues_nothing(product: Product) -> None:
    given = await product.matched()

    answer = await product.http.post(
        f"{given.path}/finalize-match",
        json={"decision": "declined", "reason": "too dear"},
        headers={"x-user-id": str(given.owner)},
    )

    assert (answer.status_code, answer.json()["data"]["status"]) == (201, "declined")
    kept = await product.one("select decline_reason from workspace_access.matches where id = %s", given.match)
    assert kept == "too dear"
    assert product.database.jobs(task=tasks.provision_workspace) == []
    assert (await product.decide(given, "advisor")).json()["error"]["code"] == "MATCH_CLOSED"


async def test_an_advisor_may_decline_too(product: Product) -> None:
    given = await product.matched()
    await product.decide(given, "client")

    await product.decide(given, "advisor", "declined", reason="no time")

    assert await product.status(given) == "declined"


async def test_only_the_owner_may_finalize(product: Product) -> None:
    given = await product.matched()
    stranger = await product.user()

    answers = [await product.finalize(given, by=who) for who in (given.advisor, stranger)]
    answers.append(await product.decide(given, "client", by=given.advisor))
    answers.append(await product.decide(given, "advisor", by=given.owner))

    assert [answer.status_code for answer in answers] == [403] * 4
    assert await product.status(given) == "matched"


async def test_an_advisor_cannot_provision_itself_as_an_owner(product: Product) -> None:
    given = await product.matched()
    await product.rows("update workspace_access.matches set advisor_id = %s", given.owner)

    answers = [await product.finalize(given), await product.decide(given, "client")]

    assert [answer.status_code for answer in answers] == [403, 403]


async def test_an_expired_match_cannot_be_decided(product: Product) -> None:
    given = await product.matched()
    product.database.clock.advance(15 * 86400)

    answer = await product.finalize(given)

    assert answer.json()["error"]["code"] == "MATCH_CLOSED"


async def test_who_has_joined_cannot_be_declined_any_more(product: Product) -> None:
    given = await product.finalized()
    await product.work()

    answer = await product.finalize(given, "declined")

    refused = {"code": "ALREADY_PROVISIONED", "recoverable": False}
    assert answer.status_code == 409
    assert refused.items() <= answer.json()["error"].items()


async def test_a_match_declined_before_its_job_ran_gives_no_access(product: Product) -> None:
    given = await product.finalized()
    await product.finalize(given, "declined")

    await product.work()

    (job,) = product.database.jobs(task=tasks.provision_workspace)
    assert (job.status, await product.has_access(given)) == ("CANCELLED", False)
