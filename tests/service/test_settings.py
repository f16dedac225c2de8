"""People, alert rules, channels and the system through the API: who may, what is kept of it, and what is never told."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.asking import audited, problem
from service.conftest import Calling
from service.house import PASSWORD


@pytest.fixture
async def admin(calling: Calling) -> AsyncIterator[httpx.AsyncClient]:
    async with calling("admin") as client:
        client.base_url = httpx.URL("http://test/api/v1/")
        yield client


@pytest.fixture
def channel(owner: psycopg.Connection) -> str:
    rules = [{"name": "slow", "kind": "oldest_wait", "severity": "info", "channels": ["pager"], "period": 60}]
    owner.execute("select holdfast.register_tasks(%s)", [Jsonb([{"name": "holdfast.notify.pager"}])])
    owner.execute(
        "select holdfast.register_alerts('a', %s, %s)",
        [Jsonb([{"name": "pager", "kind": "webhook"}]), Jsonb(rules)],
    )
    return "pager"


async def test_somebody_is_added_changed_disabled_and_enabled(
    admin: httpx.AsyncClient, owner: psycopg.Connection
) -> None:
    added = await admin.put("people/Ann", json={"role": "viewer", "password": PASSWORD})
    again = await admin.put("people/ann", json={"role": "admin", "password": PASSWORD})
    moved = await admin.put("people/ann/role", json={"role": "approver", "tenant": "acme"})
    changed = await admin.put("people/ann/password", json={"password": PASSWORD + " and gulls"})
    disabled = await admin.post("people/ann/disable", json={"reason": "left"})
    enabled = await admin.post("people/ann/enable", json={})
    listed = await admin.get("people")

    assert (added.json()["name"], added.json()["role"]) == ("ann", "viewer")
    assert problem(again) == (409, "conflict")
    assert (moved.json()["role"], moved.json()["tenant"]) == ("approver", "acme")
    assert changed.status_code == 200
    assert (disabled.json()["status"], enabled.json()["status"]) == ("disabled", "enabled")
    assert [each["name"] for each in listed.json()["items"]] == ["ann"]
    assert [row[1] for row in audited(owner)] == [
        "person.add", "person.role", "person.password", "person.disable", "person.enable",
    ]  # fmt: skip


async def test_no_answer_and_no_row_has_a_password(
    admin: httpx.AsyncClient, owner: psycopg.Connection
) -> None:
    added = await admin.put(
        "people/ann", json={"role": "viewer", "password": PASSWORD}, headers={"Idempotency-Key": "once"}
    )

    kept = owner.execute("select coalesce(string_agg(r::text, ''), '') from holdfast.request r").fetchone()
    stored = owner.execute("select p::text from holdfast.person p").fetchone()
    assert PASSWORD not in added.text
    assert "password" not in added.json()
    assert kept == ("",)
    assert stored is not None
    assert PASSWORD not in stored[0]


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("ann", "short", "at least 12"),
        ("ann", "password1234", "tried first"),
        ("key:ann", PASSWORD, "is no name"),
    ],
)
async def test_bad_names_and_passwords_are_refused(
    admin: httpx.AsyncClient, name: str, password: str, words: str
) -> None:
    answer = await admin.put(f"people/{name}", json={"role": "viewer", "password": password})

    assert problem(answer) == (422, "invalid")
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "people/nobody/role", {"role": "viewer"}),
        ("PUT", "people/nobody/password", {"password": PASSWORD}),
        ("POST", "people/nobody/disable", {}),
        ("POST", "people/nobody/enable", {}),
        ("POST", "alerts/channels/nobody/test", {}),
    ],
)
async def test_what_nobody_knows_is_not_found_and_leaves_no_trace(
    admin: httpx.AsyncClient, owner: psycopg.Connection, method: str, path: str, body: Any
) -> None:
    assert problem(await admin.request(method, path, json=body)) == (404, "not-found")
    assert audited(owner) == []


async def test_rules_and_channels_are_listed_and_a_channel_is_tried(
    admin: httpx.AsyncClient, owner: psycopg.Connection, channel: str
) -> None:
    rules = await admin.get("alerts/rules")
    channels = await admin.get("alerts/channels")
    sent = await admin.post(f"alerts/channels/{channel}/test", json={})

    (rule,) = rules.json()["items"]
    assert (rule["name"], rule["muted"], rule["period"], rule["channels"]) == ("slow", False, 60, ["pager"])
    assert channels.json()["items"] == [{"name": "pager", "kind": "webhook"}]
    assert owner.execute("select id::text, channel from holdfast.notification").fetchall() == [
        (sent.json()["id"], "pager")
    ]
    assert [row[1] for row in audited(owner)] == ["alert.test"]


async def test_the_system_tells_its_versions_and_sizes(admin: httpx.AsyncClient) -> None:
    shown = (await admin.get("system")).json()

    tables = {each["name"]: each for each in shown["tables"]}
    assert shown["schema_problem"] is None
    assert tables["job"]["bytes"] > 0
    assert tables["job_history"]["bytes"] > 0
    assert not any(name.startswith("job_history_") for name in tables)


async def test_doctor_is_asked_through_the_api(admin: httpx.AsyncClient) -> None:
    told = (await admin.get("system/doctor")).json()

    found = {each["name"]: each["verdict"] for each in told["checks"]}
    assert (found["schema"], found["listen"]) == ("ok", "ok")
