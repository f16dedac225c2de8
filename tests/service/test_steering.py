"""Queues, tasks, flags, schedules, approvals, figures, alerts and the audit, as an operator reaches them over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest

from holdfast import Context, Holdfast
from holdfast.testing import ScratchDatabase
from service.asking import audited, problem
from service.conftest import Calling
from sql.asking import asked as asking
from sql.support import Machine


@pytest.fixture
async def operator(calling: Calling) -> AsyncIterator[httpx.AsyncClient]:
    async with calling("read", "operate", "approve", "admin") as client:
        client.base_url = httpx.URL("http://test/api/v1/")
        yield client


async def test_a_queue_is_paused_limited_and_resumed(
    operator: httpx.AsyncClient, owner: psycopg.Connection
) -> None:
    paused = await operator.post("queues/default/pause", json={"reason": "deploy", "resume_in": 60})
    limited = await operator.put("queues/default/limit", json={"limit": 3})
    resumed = await operator.post("queues/default/resume", json={})
    listed = await operator.get("queues")

    assert (paused.json()["paused_by"], paused.json()["paused_for"]) == ("key:test", "deploy")
    assert limited.json()["limit"] == 3
    assert (resumed.json()["paused_at"], resumed.json()["status"]) == (None, "open")
    assert [queue["name"] for queue in listed.json()["items"]] == ["default"]
    assert [row[1:] for row in audited(owner)] == [
        ("queue.pause", "default", "deploy"),
        ("queue.limit", "default", None),
        ("queue.resume", "default", None),
    ]


async def test_a_task_is_paused_and_resumed(operator: httpx.AsyncClient) -> None:
    paused = await operator.post("tasks/greet/pause", json={"reason": "broken"})
    resumed = await operator.post("tasks/greet/resume", json={})

    assert paused.json()["paused_for"] == "broken"
    assert resumed.json()["paused_at"] is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "queues/nobody", None),
        ("POST", "queues/nobody/pause", {}),
        ("PUT", "queues/nobody/limit", {"limit": 1}),
        ("POST", "tasks/nobody/pause", {}),
        ("PUT", "flags/nobody", {"enabled": False}),
        ("GET", "schedules/nobody", None),
        ("POST", "schedules/nobody/run", {}),
        ("DELETE", "schedules/nobody", None),
        ("POST", "alerts/rules/nobody/mute", {}),
    ],
)
async def test_what_nobody_knows_is_not_found_and_leaves_no_trace(
    operator: httpx.AsyncClient, owner: psycopg.Connection, method: str, path: str, body: Any
) -> None:
    assert problem(await operator.request(method, path, json=body)) == (404, "not-found")
    assert audited(owner) == []


async def test_a_schedule_is_made_run_paused_and_deleted(operator: httpx.AsyncClient) -> None:
    body = {
        "name": "nightly",
        "task": "greet",
        "payload": {"name": "Ann"},
        "cron": "0 2 * * *",
        "tz": "Europe/Lisbon",
    }
    made = await operator.post("schedules", json=body)
    again = await operator.post("schedules", json=body)
    other = await operator.post("schedules", json={**body, "cron": "0 3 * * *"})
    times = await operator.get("schedules/nightly/next")
    started = await operator.post("schedules/nightly/run", json={"reason": "now"})
    runs = await operator.get("schedules/nightly/runs")
    paused = await operator.post("schedules/nightly/pause", json={})
    resumed = await operator.post("schedules/nightly/resume", json={})
    deleted = await operator.delete("schedules/nightly")

    assert (made.status_code, again.status_code) == (201, 201)
    assert problem(other) == (409, "conflict")
    assert len(times.json()["items"]) == 10
    assert runs.json()["items"][0]["job_id"] == started.json()["job_id"]
    assert (paused.json()["status"], resumed.json()["status"]) == ("paused", "active")
    assert deleted.json()["name"] == "nightly"
    assert problem(await operator.get("schedules/nightly")) == (404, "not-found")


async def test_a_flag_that_a_task_names_is_switched(shop: Holdfast, operator: httpx.AsyncClient) -> None:
    @shop.task(flag="new_mailer")
    async def mail(to: str) -> None:
        """Send a mail."""

    await mail.aenqueue("ann")

    off = await operator.put("flags/new_mailer", json={"enabled": False, "reason": "bounces"})
    some = await operator.put("flags/new_mailer", json={"enabled": True, "percent": 10.0})

    assert off.json()["status"] == "off"
    assert some.json()["status"] == "on for 10 %"


# -- approvals ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def asked(shop: Holdfast, holdfast_db: ScratchDatabase) -> str:
    @shop.task()
    async def refund(ctx: Context, amount: int) -> str:
        decision = await ctx.approval("large", question="Pay it back?", facts={"amount": amount}, quorum=2)
        return decision.decided_by

    await refund.aenqueue(900)
    await shop.run_worker(until_idle=True, handle_signals=False)
    (approval,) = await shop.approvals.alist()
    return str(approval.id)


async def test_a_decision_is_bound_to_what_was_seen_and_counts_once(
    calling: Calling, operator: httpx.AsyncClient, asked: str, owner: psycopg.Connection
) -> None:
    shown = await operator.get(f"approvals/{asked}")
    tag = {"If-Match": shown.headers["etag"]}
    stale = await operator.post(
        f"approvals/{asked}/decide", json={"decision": "approve"}, headers={"If-Match": '"other"'}
    )
    first = await operator.post(f"approvals/{asked}/decide", json={"decision": "approve"}, headers=tag)
    denied = await operator.post(
        f"approvals/{asked}/decide", json={"decision": "deny", "reason": "too much"}, headers=tag
    )
    late = await operator.post(f"approvals/{asked}/decide", json={"decision": "approve"}, headers=tag)

    assert shown.json()["facts"] == {"amount": 900}
    assert problem(stale) == (412, "changed")
    assert (first.json()["approvals"], first.json()["decision"]) == (1, None)
    assert (denied.json()["decision"], denied.json()["reason"]) == ("denied", "too much")
    assert problem(late) == (409, "conflict")
    assert "key:test" in late.json()["detail"]
    assert [row[1] for row in audited(owner)] == ["approval.approve", "approval.deny"]


async def test_denying_needs_a_reason_and_deciding_the_scope(
    calling: Calling, operator: httpx.AsyncClient, asked: str
) -> None:
    assert problem(await operator.post(f"approvals/{asked}/decide", json={"decision": "deny"})) == (
        422,
        "invalid",
    )
    async with calling("read", "operate") as other:
        refused = await other.post(f"/api/v1/approvals/{asked}/decide", json={"decision": "approve"})
    assert problem(refused) == (403, "forbidden")


async def test_approvals_are_listed_in_parts(shop: Holdfast, operator: httpx.AsyncClient) -> None:
    @shop.task()
    async def ask(ctx: Context) -> None:
        await ctx.approval("gate", question="May I?")

    await shop.aenqueue_many([ask.job() for _ in range(5)])
    await shop.run_worker(until_idle=True, handle_signals=False)

    found: list[str] = []
    after: str | None = None
    while True:
        given: dict[str, str | int] = {"limit": 2, **({"after": after} if after else {})}
        page = (await operator.get("approvals", params=given)).json()
        found += [one["id"] for one in page["items"]]
        after = page["next"]
        if after is None:
            break

    assert len(found) == len(set(found)) == 5
    assert found == sorted(found, reverse=True)


async def test_another_tenants_approvals_are_not_there(calling: Calling, asked: str) -> None:
    async with calling("read", "approve", tenant="globex") as client:
        listed = await client.get("/api/v1/approvals")
        shown = await client.get(f"/api/v1/approvals/{asked}")
        decided = await client.post(f"/api/v1/approvals/{asked}/decide", json={"decision": "approve"})

    assert listed.json()["items"] == []
    assert problem(shown) == problem(decided) == (404, "not-found")


# -- figures -----------------------------------------------------------------------------------------------------------------


async def test_usage_quotas_and_statistics_are_told(shop: Holdfast, operator: httpx.AsyncClient) -> None:
    await shop.tasks["greet"].using(tenant="acme").aenqueue("Ann")
    await shop.run_worker(until_idle=True, handle_signals=False)

    usage = (await operator.get("usage", params={"tenant": "acme"})).json()["items"]
    set_ = await operator.put("quotas", json={"tenant": "acme", "period": "day", "hard": 10})
    quotas = (await operator.get("quotas")).json()["items"]
    figures = (await operator.get("statistics", params={"hours": 1, "by_task": "true"})).json()["items"]

    assert [(one["task"], one["completed"]) for one in usage] == [("greet", 1)]
    assert set_.status_code == 200
    assert [(one["tenant"], float(one["hard"]), float(one["used"])) for one in quotas] == [("acme", 10, 1)]
    assert [(one["task"], one["completed"], one["success_rate"]) for one in figures] == [("greet", 2, 1.0)]


async def test_no_more_than_400_days_of_usage_are_told_at_a_time(operator: httpx.AsyncClient) -> None:
    refused = await operator.get("usage", params={"first": "2020-01-01", "last": "2026-01-01"})

    assert problem(refused) == (422, "invalid")
    assert "400 days" in refused.json()["detail"]


async def test_what_concerns_all_is_not_for_callers_of_one_tenant(calling: Calling) -> None:
    async with calling("admin", tenant="acme") as client:
        assert problem(await client.get("/api/v1/queues")) == (403, "forbidden")
        assert problem(await client.get("/api/v1/usage", params={"tenant": "globex"})) == (404, "not-found")
        own = await client.get("/api/v1/usage")
    assert own.json() == {"items": []}


async def test_the_audit_is_listed_in_parts_and_append_only(
    operator: httpx.AsyncClient, owner: psycopg.Connection
) -> None:
    for _ in range(3):
        await operator.post("queues/default/resume", json={})
    first = (await operator.get("audit", params={"limit": 2})).json()
    rest = (await operator.get("audit", params={"limit": 2, "after": first["next"]})).json()

    ids = [one["id"] for one in first["items"] + rest["items"]]
    assert (len(ids), ids, rest["next"]) == (3, sorted(ids, reverse=True), None)
    with pytest.raises(psycopg.Error, match="append-only"):
        owner.execute("delete from holdfast.audit")


async def test_several_are_approved_together_and_each_is_told_what_came_of_it(
    operator: httpx.AsyncClient, calling: Calling, shop: Holdfast, owner: psycopg.Connection
) -> None:
    machine = Machine(owner)
    machine.register("t")
    small = [asking(machine, question=f"Pay {n}?", approvers=[], bulk=True) for n in range(2)]
    large = asking(machine, question="Pay 900?", approvers=[])
    two = asking(machine, question="Both?", approvers=[], quorum=2, bulk=True)
    shown = (await operator.get("approvals")).json()["items"]
    seen = [{"id": one["id"], "version": one["version"]} for one in shown]
    unknown = {"id": "01a1e5cf-6d71-7999-8d52-10df872b5e22", "version": "00"}

    answer = await operator.post("approvals/approve", json={"approvals": [*seen, unknown], "reason": "small"})
    again = await operator.post("approvals/approve", json={"approvals": seen[:1]})
    async with calling("read", "operate") as client:
        refused = await client.post("/api/v1/approvals/approve", json={"approvals": seen})

    told = {one["id"]: (one["counts"], one["says"]) for one in answer.json()["items"]}
    assert [one["bulk"] for one in shown] == [True, False, True, True]
    assert {told[str(one.approval_id)] for one in small} == {(True, "approved; its job goes on")}
    assert told[str(two.approval_id)] == (True, "counted: 1 of 2 approvals so far")
    assert told[str(large.approval_id)][0] is False
    assert "decide it alone" in told[str(large.approval_id)][1]
    assert told[unknown["id"]] == (False, "it is not there any more")
    assert again.json()["items"][0]["says"] == "counted: 1 of 2 approvals so far"
    assert problem(refused) == (403, "forbidden")
    approved = [row[2] for row in audited(owner) if row[1] == "approval.approve" and row[3] == "small"]
    assert sorted(approved) == sorted(str(one.approval_id) for one in (*small, two))


async def test_another_tenants_approval_is_not_there_to_be_given_together(
    calling: Calling, owner: psycopg.Connection
) -> None:
    machine = Machine(owner)
    machine.register("t")
    theirs = asking(machine, enqueued={"tenant": "globex"}, approvers=[], bulk=True)
    version = machine.value("select bound_hash from holdfast.approval")

    async with calling("approve", tenant="acme") as client:
        body = {"approvals": [{"id": str(theirs.approval_id), "version": version}]}
        answer = await client.post("/api/v1/approvals/approve", json=body)

    assert [one["counts"] for one in answer.json()["items"]] == [False]
    assert machine.value("select decision from holdfast.approval") is None
