from typing import Any
from uuid import uuid4

import pytest

from holdfast import Context, Holdfast
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from interfaces.shop_app import app as shop
from interfaces.shop_app import refund
from world.draining import drain


@pytest.fixture
def asked(cli: Cli, holdfast_db: ScratchDatabase) -> dict[str, Any]:
    return ask(cli, holdfast_db, 900)


def ask(cli: Cli, database: ScratchDatabase, amount: int, quorum: int = 1) -> dict[str, Any]:
    """Bring a job to its gate; gives its approval."""
    database.use(shop)
    refund.using(requested_by="cho").enqueue(amount, quorum)
    drain(shop)
    shop.close()
    found: dict[str, Any] = cli.json("approval", "list")[0]
    return found


def test_open_approvals_are_listed_with_whom_they_ask(cli: Cli, asked: dict[str, Any]) -> None:
    listed = cli("approval", "list").stdout

    assert asked["id"] in listed
    assert "Refund 900 €?" in listed
    assert "ann or ben" in listed
    assert "in 1 h 59 min" in listed or "in 2 h 00 min" in listed
    assert cli("approval", "list", "-o", "id").stdout.strip() == asked["id"]
    assert cli.json("approval", "list", "--approver", "zoe") == []
    assert "nothing is asked" in cli("approval", "list", "--status", "decided").stderr


def test_show_says_all_that_a_decision_needs(cli: Cli, asked: dict[str, Any]) -> None:
    shown = cli("approval", "show", asked["id"][:13]).stdout

    for word in ("Refund 900 €?", "amount: 900", "invoice: 2030-17", "ann or ben, but not cho", "0 of 1 so far",
                 "then the job fails", asked["bound_hash"], f"holdfast approval approve {asked['id']}"):  # fmt: skip
        assert word in shown


def test_what_a_task_asks_cannot_steer_the_terminal(cli: Cli, asked: dict[str, Any]) -> None:
    told = cli("approval", "show", asked["id"]).stdout + cli("approval", "list").stdout
    told += cli("job", "show", asked["job_id"]).stdout

    assert not {"\x1b", "\x07", "\r"} & set(told)


def test_approve_lets_the_job_go_on(cli: Cli, holdfast_db: ScratchDatabase, asked: dict[str, Any]) -> None:
    said = cli("approval", "approve", asked["id"], "--as", "ann", "--reason", "fine").stdout
    drain(holdfast_db.use(shop))
    shop.close()

    assert f"job {asked['job_id']} goes on" in said
    assert cli.json("job", "show", asked["job_id"])["result"] == "ann"
    voice = cli.json("approval", "show", asked["id"])["voices"][0]
    assert (voice["who"], voice["how"], voice["reason"]) == ("ann", "person", "fine")
    assert voice["origin"].startswith("command line on ")


def test_deny_fails_the_job_with_the_reason(cli: Cli, asked: dict[str, Any]) -> None:
    cli("approval", "deny", asked["id"], "--as", "ben", "--reason", "too much")

    job = cli.json("job", "show", asked["job_id"])
    assert (job["status"], job["error"]["type"]) == ("FAILED", "ApprovalDenied")
    assert job["history"][-1]["actor"] == "ben"
    assert "too much" in cli("job", "show", asked["job_id"]).stdout
    assert "denied by ben" in cli("approval", "list", "--status", "all").stdout


def test_a_denial_without_a_reason_is_a_usage_error(cli: Cli, asked: dict[str, Any]) -> None:
    assert "--reason" in cli("approval", "deny", asked["id"], "--as", "ben", code=2).stderr


def test_a_quorum_is_counted(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    asked = ask(cli, holdfast_db, 900, quorum=2)

    first = cli("approval", "approve", asked["id"], "--as", "ann").stdout
    shown = cli("approval", "show", asked["id"]).stdout
    second = cli("approval", "approve", asked["id"], "--as", "ben").stdout

    assert "counted: 1 of 2" in first
    assert "1 of 2 so far" in shown
    assert "goes on" in second


def test_deciding_too_late_is_exit_code_5_and_names_who_was_first(cli: Cli, asked: dict[str, Any]) -> None:
    cli("approval", "approve", asked["id"], "--as", "ann")

    late = cli("approval", "deny", asked["id"], "--as", "ben", "--reason", "no", code=5)
    again = cli("approval", "approve", asked["id"], "--as", "ann")

    assert "approved already, by ann" in late.stderr
    assert "approved" in again.stdout


def test_an_unknown_approval_is_exit_code_4(cli: Cli, asked: dict[str, Any]) -> None:
    for arguments in (("show",), ("approve",), ("deny", "--reason", "no")):
        cli("approval", arguments[0], str(uuid4()), *arguments[1:], code=4)
    cli("approval", "show", "ffffff", code=4)
    cli("approval", "show", "nonsense", code=2)


def test_who_may_not_decide_is_told_why(cli: Cli, asked: dict[str, Any]) -> None:
    assert "only ann, ben may decide" in cli("approval", "approve", asked["id"], "--as", "zoe", code=1).stderr
    assert "cancel the job" in cli("approval", "approve", asked["id"], "--as", "cho", code=1).stderr


def test_a_job_that_asks_says_how_to_decide(cli: Cli, asked: dict[str, Any]) -> None:
    told = cli("job", "show", asked["job_id"]).stdout

    assert "asks ann or ben: Refund 900 €?" in told
    assert f"holdfast approval approve {asked['id']}" in told
    assert cli.json("job", "show", asked["job_id"])["approval"]["id"] == asked["id"]


def test_an_approved_job_without_a_worker_says_what_it_waits_for(cli: Cli, asked: dict[str, Any]) -> None:
    cli("approval", "approve", asked["id"], "--as", "ann")

    assert "approved by ann; no live worker" in cli("job", "show", asked["job_id"]).stdout


def test_pages_follow_each_other(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    for amount in (1, 2, 3):
        ask(cli, holdfast_db, amount)

    first = cli("approval", "list", "--limit", "2")
    last = first.stderr.split()[-1]

    assert len(cli.json("approval", "list", "--before", last)) == 1


def test_several_are_approved_together_where_their_gates_allow_it(
    cli: Cli, holdfast_db: ScratchDatabase
) -> None:
    app = holdfast_db.use(Holdfast())

    @app.task()
    async def pay(ctx: Context, amount: int, bulk: bool) -> None:
        await ctx.approval("pay", question=f"Pay {amount}?", bulk=bulk)

    for amount in (1, 2):
        pay.enqueue(amount, bulk=True)
    pay.enqueue(900, bulk=False)
    drain(app)
    app.close()
    ids = {one["question"]: one["id"] for one in cli.json("approval", "list")}

    both = cli("approval", "approve", ids["Pay 1?"], ids["Pay 2?"], "--as", "ann").stdout
    late = cli.json("approval", "approve", ids["Pay 1?"], ids["Pay 900?"], "--as", "ben", code=5)

    assert both.count("approved; its job goes on") == 2
    assert [(one["counts"], one["says"][:15]) for one in late] == [
        (False, "already approve"),
        (False, "its gate does n"),
    ]
