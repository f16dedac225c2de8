import asyncio
import logging
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast import (
    ApprovalClosed,
    ApprovalNotFound,
    ApprovalRefused,
    BadInput,
    Context,
    Delays,
    Holdfast,
    NotAllowed,
    Status,
    SyncContext,
)
from holdfast.store.connection import Database
from holdfast.store.databases import url_of
from holdfast.store.inspect import find_job
from holdfast.testing import ScratchDatabase
from world.draining import drain


def the_open_one(app: Holdfast) -> UUID:
    (approval,) = app.approvals.list()
    return approval.id


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def refund(app: Holdfast, ran: list[str]) -> Any:
    @app.task(backoff=Delays([0]))
    async def refund(ctx: Context, amount: int) -> str:
        await ctx.step("look up", ran.append, "look up")
        decision = await ctx.approval(
            "large",
            question=f"Refund {amount} €?",
            facts={"amount": amount},
            approvers=["ann", "ben"],
            expires_in=timedelta(hours=1),
        )
        await ctx.step("pay", ran.append, "pay")
        return f"{decision.decided_by}: {decision.reason}"

    return refund


def test_an_approved_job_goes_on_after_the_gate_with_its_steps_intact(
    app: Holdfast, refund: Any, ran: list[str]
) -> None:
    handle = refund.enqueue(900)
    drain(app)
    assert (handle.status(), ran) == (Status.WAITING_FOR_APPROVAL, ["look up"])
    assert app.approvals.list()[0].facts == {"amount": 900}

    answer = app.approvals.approve(
        the_open_one(app), actor="ann", reason="seen the invoice", origin="10.1.1.1"
    )
    assert answer.result == "decided"
    drain(app)

    assert handle.result(timeout=5) == "ann: seen the invoice"
    assert ran == ["look up", "pay"]
    assert app.approvals.list() == []


def test_a_denied_job_fails_and_runs_no_further(app: Holdfast, refund: Any, ran: list[str]) -> None:
    handle = refund.enqueue(900)
    drain(app)

    app.approvals.deny(the_open_one(app), actor="ben", reason="too much")
    drain(app)

    assert (handle.status(), ran) == (Status.FAILED, ["look up"])


def test_an_expired_gate_fails_the_job_by_the_databases_clock(
    app: Holdfast, holdfast_db: ScratchDatabase, refund: Any
) -> None:
    handle = refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)
    holdfast_db.clock.advance(timedelta(hours=1))

    with pytest.raises(ApprovalClosed) as closed:
        app.approvals.approve(approval_id, actor="ann")

    assert (closed.value.decision, closed.value.decided_by) == ("expired", "system")
    assert handle.status() is Status.FAILED


def test_what_a_denied_job_had_done_is_undone(app: Holdfast) -> None:
    undone: list[str] = []

    @app.task(retries=0)
    async def books(ctx: Context) -> None:
        await ctx.step("reserve", lambda: "seat 7", compensate=undone.append)
        await ctx.approval("gate", question="Keep it?")
        await ctx.step("more", lambda: "seat 8", compensate=undone.append)

    books.enqueue()
    drain(app)
    app.approvals.deny(the_open_one(app), actor="ann", reason="no")
    drain(app)

    assert undone == ["seat 7"]


def test_a_job_that_fails_after_its_gate_is_undone_past_it(app: Holdfast) -> None:
    undone: list[str] = []

    @app.task(retries=0)
    async def books(ctx: Context) -> None:
        decision = await ctx.approval("gate", question="Keep it?")
        await ctx.step("reserve", lambda: decision.decided_by, compensate=undone.append)
        raise RuntimeError("after the gate")

    books.enqueue()
    drain(app)
    app.approvals.approve(the_open_one(app), actor="ann")
    drain(app)

    assert undone == ["ann"]


def test_a_sync_task_asks_too(app: Holdfast) -> None:
    @app.task()
    def refund(ctx: SyncContext) -> list[str]:
        return list(ctx.approval("gate", question="Go on?", quorum=2).approved_by)

    handle = refund.enqueue()
    drain(app)
    for who in ("ann", "ben"):
        app.approvals.approve(the_open_one(app), actor=who)
    drain(app)

    assert handle.result(timeout=5) == ["ann", "ben"]


def test_gates_of_one_name_are_counted_and_each_is_asked(app: Holdfast) -> None:
    @app.task()
    async def pays(ctx: Context) -> list[str]:
        return [(await ctx.approval("pay", question=f"Rate {n}?")).decided_by for n in (1, 2)]

    handle = pays.enqueue()
    for who in ("ann", "ben"):
        drain(app)
        app.approvals.approve(the_open_one(app), actor=who)
    drain(app)

    assert handle.result(timeout=5) == ["ann", "ben"]
    assert [each.name for each in app.approvals.of_job(handle.id)] == ["pay#2", "pay"]


def test_facts_that_change_after_the_approval_are_refused_in_every_later_attempt(app: Holdfast) -> None:
    rates = iter([1.1, 1.1, 1.3, 1.3])

    @app.task(retries=1, backoff=Delays([0]))
    async def trades(ctx: Context) -> None:
        await ctx.approval("trade", question="Buy?", facts={"rate": next(rates)})
        if ctx.attempt == 2:
            raise RuntimeError("after the gate")

    handle = trades.enqueue()
    drain(app)
    app.approvals.approve(the_open_one(app), actor="ann")
    drain(app)

    assert handle.status() is Status.FAILED
    job = app.link.perform(find_job(handle.id))
    assert job is not None
    assert job.error is not None
    assert job.error["type"].endswith("ApprovalChanged")
    assert "make them from the payload" in job.error["message"]


def test_facts_may_hold_whatever_a_payload_may(app: Holdfast) -> None:
    @app.task()
    async def refund(ctx: Context) -> None:
        await ctx.approval(
            "gate", question="?", facts={"at": date(2030, 1, 31), "sum": Decimal("1.10"), "id": UUID(int=7)}
        )

    refund.enqueue()
    drain(app)

    assert app.approvals.list()[0].facts == {
        "at": "2030-01-31",
        "sum": "1.10",
        "id": "00000000-0000-0000-0000-000000000007",
    }


@pytest.mark.parametrize(
    ("gate", "word"),
    [
        ({"approvers": "ann"}, "one name"),
        ({"approvers": ["ann"], "quorum": 2}, "never be reached"),
        ({"question": ""}, "question"),
        ({"expires_in": timedelta(seconds=-1)}, "expire"),
    ],
)
def test_a_gate_that_makes_no_sense_fails_the_task_with_a_sentence(
    app: Holdfast, holdfast_db: ScratchDatabase, gate: dict[str, Any], word: str
) -> None:
    @app.task(retries=0)
    async def asks(ctx: Context) -> None:
        await ctx.approval("gate", **{"question": "?", **gate})

    asks.enqueue()
    drain(app)

    (job,) = holdfast_db.jobs()
    assert job.status is Status.FAILED
    assert word in (job.error or {})["message"]


def test_an_attempt_that_lost_its_job_asks_nobody(app: Holdfast) -> None:
    @app.task(retries=0)
    async def zombie(ctx: Context) -> None:
        app.cancel(ctx.job_id)
        await ctx.approval("gate", question="?")

    handle = zombie.enqueue()
    drain(app)

    assert handle.status() is Status.CANCELLED
    assert app.approvals.list("all") == []


def test_a_retry_by_hand_asks_again(app: Holdfast, refund: Any) -> None:
    handle = refund.enqueue(900)
    drain(app)
    app.approvals.deny(the_open_one(app), actor="ann", reason="not today")
    again = app.retry(handle.id, actor="zoe")
    drain(app)

    app.approvals.approve(the_open_one(app), actor="ann", reason="today")
    drain(app)

    assert again.result(timeout=5) == "ann: today"


# -- deciding ----------------------------------------------------------------------------------------------------------------


def test_deciding_twice_says_who_was_first_but_a_repeat_is_no_error(app: Holdfast, refund: Any) -> None:
    refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)
    app.approvals.approve(approval_id, actor="ann")

    assert app.approvals.approve(str(approval_id), actor="ann").result == "already"
    with pytest.raises(ApprovalClosed, match="approved already, by ann"):
        app.approvals.deny(approval_id, actor="ann", reason="no")
    with pytest.raises(ApprovalClosed, match="by ann"):
        app.approvals.approve(approval_id, actor="ben")


def test_who_may_not_decide_is_told_why(app: Holdfast, refund: Any) -> None:
    refund.enqueue(900)
    drain(app)

    with pytest.raises(ApprovalRefused, match="only ann, ben may decide"):
        app.approvals.approve(the_open_one(app), actor="mallory")
    with pytest.raises(ApprovalNotFound):
        app.approvals.approve(uuid4(), actor="ann")
    with pytest.raises(ApprovalNotFound):
        app.approvals.get(uuid4())
    with pytest.raises(BadInput):
        app.approvals.approve("nonsense", actor="ann")
    with pytest.raises(BadInput):
        app.approvals.list("closed")  # type: ignore[arg-type]


async def test_the_async_twins_do_the_same(app: Holdfast, holdfast_db: ScratchDatabase, refund: Any) -> None:
    first, second, third = [refund.enqueue(amount) for amount in (1, 2, 3)]
    await asyncio.to_thread(drain, app)
    ids = {each.job_id: each.id for each in await app.approvals.alist(approver="ANN")}

    invitation = await app.approvals.amint_token(ids[first.id], "ann")
    await app.approvals.adecide_by_token(ids[first.id], invitation.token, "approve", reason="by mail")
    await app.approvals.aapprove(ids[second.id], actor="ben")
    await app.approvals.adeny(ids[third.id], actor="ben", reason="no")

    assert (await app.approvals.aget(ids[first.id])).reason == "by mail"
    assert [each.decision for each in await app.approvals.aof_job(third.id)] == ["denied"]
    assert await app.approvals.alist() == []
    await app.aclose()


def test_lists_go_page_by_page(app: Holdfast, refund: Any) -> None:
    handles = [refund.enqueue(n) for n in range(5)]
    drain(app)
    first = app.approvals.list(limit=3)
    app.approvals.deny(first[0].id, actor="ann", reason="no")

    rest = app.approvals.list(before=first[-1].id, limit=3)

    assert {each.job_id for each in first + rest} == {handle.id for handle in handles}
    assert [len(app.approvals.list(scope)) for scope in ("open", "decided", "all")] == [4, 1, 5]
    assert app.approvals.list(approver="mallory") == []


# -- tokens --------------------------------------------------------------------------------------------------------------------


def test_a_token_decides_once_and_is_never_logged_or_shown(
    app: Holdfast, refund: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)
    old = app.approvals.mint_token(approval_id, "ann")
    new = app.approvals.mint_token(approval_id, "ann")

    answers = [
        app.approvals.decide_by_token(approval_id, token, "approve", origin="10.1.1.1").result
        for token in (old.token, new.token, new.token)
    ]
    drain(app)

    assert answers == ["unknown", "decided", "unknown"]
    assert old.token.startswith("hfa_")
    assert len(old.token) >= 4 + 43
    assert not [token for token in (old.token, new.token) if token in caplog.text + repr(old) + repr(new)]


def test_an_invitation_says_what_to_deliver(app: Holdfast, refund: Any) -> None:
    refund.enqueue(900)
    drain(app)

    invitation = app.approvals.mint_token(the_open_one(app), "ann")

    assert (invitation.approver, invitation.question, invitation.facts) == (
        "ann",
        "Refund 900 €?",
        {"amount": 900},
    )
    assert invitation.expires_at is not None
    assert invitation.expires_at > datetime.now(UTC)


@pytest.mark.parametrize(
    "approval_id", ["", "nonsense", "../../etc/passwd", "0198f0aa-0000-7000-8000-000000000000"]
)
def test_a_hostile_link_is_answered_unknown(app: Holdfast, approval_id: str) -> None:
    for token in ("", "hfa_", "x" * 100_000, "\x00", "\ud800", "hfa_' or 1=1 --"):
        answer = app.approvals.decide_by_token(approval_id, token, "approve")

        assert answer._asdict() == {**dict.fromkeys(answer._fields), "result": "unknown"}, token


@pytest.mark.parametrize("word", ["\x00", "fine\x00", "\ud800"])
def test_words_that_cannot_be_stored_are_bad_input(app: Holdfast, refund: Any, word: str) -> None:
    refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)

    with pytest.raises(BadInput, match="actor"):
        app.approvals.approve(approval_id, actor=word)
    with pytest.raises(BadInput, match="reason"):
        app.approvals.deny(approval_id, actor="ann", reason=word)
    with pytest.raises(BadInput, match="origin"):
        app.approvals.decide_by_token(approval_id, "hfa_", "approve", origin=word)
    with pytest.raises(BadInput, match="approver"):
        app.approvals.mint_token(approval_id, word)

    assert len(app.approvals.list()) == 1


def test_a_repeated_delivery_after_a_decision_is_told_who_decided(app: Holdfast, refund: Any) -> None:
    refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)
    app.approvals.approve(approval_id, actor="ann")

    with pytest.raises(ApprovalClosed) as closed:
        app.approvals.mint_token(approval_id, "ben")

    assert (closed.value.decision, closed.value.decided_by) == ("approved", "ann")


# -- rights --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "may"), [("producer", False), ("worker", False), ("viewer", False), ("api", True)]
)
def test_only_a_login_with_the_api_role_decides(
    app: Holdfast, holdfast_db: ScratchDatabase, refund: Any, role: str, may: bool
) -> None:
    refund.enqueue(900)
    drain(app)
    approval_id = the_open_one(app)
    token = app.approvals.mint_token(approval_id, "ann").token
    other = Holdfast()
    other.connect_to(Database(url_of(holdfast_db.owner_url, options=f"-crole=holdfast_{role}"), "test"))

    try:
        if may:
            other.approvals.approve(approval_id, actor="ann")
        else:
            with pytest.raises(NotAllowed):
                other.approvals.approve(approval_id, actor="ann")
            with pytest.raises(NotAllowed):
                other.approvals.decide_by_token(approval_id, token, "approve")
    finally:
        other.close()

    assert len(app.approvals.list()) == (0 if may else 1)
