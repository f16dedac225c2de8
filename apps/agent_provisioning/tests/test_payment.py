"""The payment's event: verified, counted once, answered at once."""

import asyncio
import time

import pytest

from apps.agent_provisioning.story import User, World
from apps.agent_provisioning.tests.hands import engine_rows, hand_over, jobs, rows, send


async def test_the_subscription_and_the_job_commit_in_one_transaction(ana: User) -> None:
    agent_id = await ana.buy("Atlas")

    ((subscribed, agent),) = rows("select xmin::text, agent_id::text from agent_provisioning.subscription")
    ((queued,),) = engine_rows("select xmin::text from holdfast.job where subject = %s", f"agent:{agent_id}")
    assert (subscribed, agent) == (queued, agent_id)


async def test_an_event_is_answered_at_once_and_github_is_not_called_for_it(ana: User, world: World) -> None:
    took = []
    for _, event in [await ana.draft(name) for name in ("Atlas", "Boreas", "Castor")]:
        began = time.monotonic()
        assert await world.stripe.send(event) == [200]
        took.append(time.monotonic() - began)

    assert min(took) < 2  # the others may have met a busy machine
    assert world.github.requests == []


async def test_an_event_is_verified_against_the_raw_body(ana: User, world: World) -> None:
    _, event = await ana.draft("Atlas")
    body, headers = world.stripe.signed(event)
    compact = body.replace(b"\n", b"")
    _, old = world.stripe.signed(event, at=time.time() - 400)

    answers = [
        await send(world.stripe.endpoint, compact, headers),  # the same JSON in other bytes
        await send(world.stripe.endpoint, body, {}),
        await send(world.stripe.endpoint, body, {"Stripe-Signature": f"t={int(time.time())},v1={'0' * 64}"}),
        await send(world.stripe.endpoint, body, old),
    ]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert jobs() == []
    assert (await send(world.stripe.endpoint, body, headers)).status_code == 200


async def test_the_same_event_makes_one_job_however_often_and_however_concurrently(
    ana: User, world: World
) -> None:
    agent_id, event = await ana.draft("Atlas")

    answers = await asyncio.gather(*(world.stripe.send(event, times=5) for _ in range(4)))

    assert answers == [[200] * 5] * 4
    assert len(jobs()) == 1
    assert rows("select agent_id::text from agent_provisioning.subscription") == [(agent_id,)]


async def test_a_repeat_after_the_machine_runs_answers_200_and_does_nothing(ana: User, world: World) -> None:
    agent_id, event = await ana.draft("Atlas")
    await world.stripe.deliver(event)
    run = await hand_over(world)
    await run.report("completed")

    assert await world.stripe.send(event) == [200]
    assert len(jobs()) == 1
    assert (await ana.look(agent_id))["state"] == "running"


async def test_the_unique_constraint_decides_whether_an_event_was_counted(ana: User, world: World) -> None:
    agent_id, event = await ana.draft("Atlas")
    rows(
        "insert into agent_provisioning.subscription (id, agent_id, event_id) values ('sub_0', %s, %s) returning 1",
        agent_id,
        event["id"],
    )

    assert await world.stripe.send(event) == [200]
    assert jobs() == []


async def test_an_agent_with_a_machine_never_gets_a_second_one(ana: User, world: World) -> None:
    agent_id, event = await ana.draft("Atlas")
    await world.stripe.deliver(event)
    run = await hand_over(world)
    await run.report("completed")

    again = {**event["data"]["object"], "subscription": "sub_another"}
    await world.stripe.deliver(world.stripe.event("checkout.session.completed", again))

    assert len(jobs()) == 1
    assert (await ana.look(agent_id))["state"] == "running"


async def test_money_that_comes_later_is_waited_for(ana: User, world: World) -> None:
    _, event = await ana.draft("Atlas")
    session = event["data"]["object"]
    session["payment_status"] = "unpaid"
    assert await world.stripe.send(event) == [200]
    assert jobs() == []

    session["payment_status"] = "paid"
    await world.stripe.deliver(world.stripe.event("checkout.session.async_payment_succeeded", session))

    assert len(jobs()) == 1


async def test_events_in_the_wrong_order_make_one_job(ana: User, world: World) -> None:
    _, completed = await ana.draft("Atlas")
    succeeded = world.stripe.event("checkout.session.async_payment_succeeded", completed["data"]["object"])

    assert [await world.stripe.send(event) for event in (succeeded, completed)] == [[200], [200]]
    assert len(jobs()) == 1


@pytest.mark.parametrize(
    ("metadata", "answer"),
    [({}, 200), ({"agentId": "00000000-0000-4000-8000-000000000000", "userId": "ana"}, 500)],
)
async def test_a_payment_for_something_else_is_ignored_and_one_for_nothing_is_sent_again(
    ana: User, world: World, metadata: dict[str, str], answer: int
) -> None:
    event = world.stripe.event(
        "checkout.session.completed",
        {"metadata": metadata, "payment_status": "paid", "subscription": "sub_9"},
    )

    assert await world.stripe.send(event) == [answer]
    assert jobs() == []
