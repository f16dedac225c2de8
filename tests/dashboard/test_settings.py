"""The settings: each for whoever the API lets, secrets shown once, and every switch with its effect."""

import re
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from dashboard.conftest import Looking
from holdfast.domain.access import Role
from service.house import HASHED, PASSWORD
from sql.support import Machine

HOSTILE = '"><b onmouseover=alert(1)>'
TABS = ("alerts", "tasks", "keys", "people", "system", "doctor")


def watched(machine: Machine, name: str = "nobody works", channel: str = "slack") -> None:
    machine.register(f"holdfast.notify.{channel}", queue="holdfast")
    channels = [{"name": channel, "kind": "slack"}]
    rules = [{"name": name, "kind": "no_worker", "severity": "critical", "channels": [channel], "period": 60}]
    machine.run("select holdfast.register_alerts('app', %s, %s)", Jsonb(channels), Jsonb(rules))


def person(machine: Machine, name: str, role: Role = Role.VIEWER) -> None:
    machine.run("select holdfast.create_person(%s, %s, %s, null, 'tests')", name, HASHED, role.value)


# -- who sees what ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "tenant", "seen"),
    [
        (Role.VIEWER, None, {"alerts", "tasks"}),
        (Role.OPERATOR, None, {"alerts", "tasks", "system", "doctor"}),
        (Role.ADMIN, None, set(TABS)),
        (Role.ADMIN, "acme", {"keys"}),
        (Role.VIEWER, "acme", set()),
    ],
)
async def test_tabs_are_those_that_the_api_would_answer(
    looking: Looking, role: Role, tenant: str | None, seen: set[str]
) -> None:
    async with looking(role, tenant) as browser:
        home = await browser.get("/settings")
        pages = {tab: await browser.get(f"/settings/{tab}") for tab in TABS}

    refusal = "Your key or role does not allow this"
    assert {tab for tab in TABS if f'href="/settings/{tab}"' in home.text} == seen
    assert {tab for tab, page in pages.items() if refusal not in page.text} == seen
    assert f"You are {role}" in home.text


async def test_a_panel_alone_is_the_panel_of_its_page(machine: Machine, looking: Looking) -> None:
    watched(machine)

    async with looking(Role.ADMIN) as browser:
        page = await browser.get("/settings/alerts")
        alone = [
            await browser.get(f"/settings/alerts?panel={name}") for name in ("rule_list", "channel_list")
        ]

    for panel in alone:
        assert panel.text.strip() in page.text


# -- keys ---------------------------------------------------------------------------------------------------------------------


async def test_a_key_is_shown_once_and_opens_what_it_says(machine: Machine, looking: Looking) -> None:
    async with looking(Role.ADMIN) as browser:
        made = await browser.post(
            "/settings/keys/create", data={"name": "shop", "read": "on", "enqueue": "on", "days": "30"}
        )
        listed = await browser.get("/settings/keys")

    found = re.search(r"hfk_[A-Za-z0-9]{12}_[A-Za-z0-9]{43}", made.text)
    assert made.status_code == 200
    assert made.headers["cache-control"] == "no-store"
    assert found is not None
    assert found[0] not in listed.text
    assert "set-cookie" not in made.headers
    row = machine.one(
        "select name, scopes, expires_at > now() + interval '29 days' as late from holdfast.api_key"
    )
    assert row == {"name": "shop", "scopes": ["enqueue", "read"], "late": True}


async def test_a_key_that_may_do_nothing_is_not_made(machine: Machine, looking: Looking) -> None:
    async with looking(Role.ADMIN) as browser:
        refused = await browser.post("/settings/keys/create", data={"name": "shop"})
        after = await browser.get(refused.headers["location"])

    assert "tick at least one thing" in after.text
    assert machine.count("holdfast.api_key") == 0


async def test_a_key_is_replaced_and_revoked(machine: Machine, looking: Looking) -> None:
    async with looking(Role.ADMIN) as browser:
        await browser.post("/settings/keys/create", data={"name": "shop", "read": "on"})
        first = machine.value("select id from holdfast.api_key")
        replaced = await browser.post(
            "/settings/keys/rotate", data={"id": first, "reason": "yearly", "hours": "1"}
        )
        second = machine.value("select id from holdfast.api_key where id <> %s", first)
        revoked = await browser.post("/settings/keys/revoke", data={"id": second, "reason": "leaked"})
        listed = await browser.get(revoked.headers["location"])

    assert f"hfk_{second}_" in replaced.text
    assert "Key shop is revoked" in listed.text
    assert machine.value("select revoked_at is not null from holdfast.api_key where id = %s", second)


async def test_an_operator_makes_no_key(machine: Machine, looking: Looking) -> None:
    async with looking(Role.OPERATOR) as browser:
        refused = await browser.post("/settings/keys/create", data={"name": "mine", "admin": "on"})

    assert refused.status_code == 303
    assert machine.count("holdfast.api_key") == 0


# -- people -------------------------------------------------------------------------------------------------------------------


async def test_somebody_is_added_given_a_role_disabled_and_enabled(
    machine: Machine, looking: Looking
) -> None:
    async def state() -> Any:
        return machine.one("select role, tenant, disabled_at is not null as disabled from holdfast.person")

    async with looking(Role.ADMIN, name="root") as browser:
        new = {"name": "Ann@example.com", "password": PASSWORD, "role": "viewer", "tenant": ""}
        added = await browser.post("/settings/people/add", data=new)
        listed = await browser.get(added.headers["location"])
        await browser.post(
            "/settings/people/role", data={"name": "ann@example.com", "role": "approver", "tenant": "acme"}
        )
        approver = await state()
        await browser.post("/settings/people/disable", data={"name": "ann@example.com", "reason": "left"})
        disabled = await state()
        await browser.post("/settings/people/enable", data={"name": "ann@example.com", "reason": "back"})

    assert "ann@example.com is viewer now." in listed.text
    assert approver == {"role": "approver", "tenant": "acme", "disabled": False}
    assert disabled["disabled"]
    assert not (await state())["disabled"]
    assert [row["action"] for row in machine.rows("select action from holdfast.audit order by id")] == [
        "person.add", "person.role", "person.disable", "person.enable",
    ]  # fmt: skip


async def test_a_weak_password_is_refused_in_words(machine: Machine, looking: Looking) -> None:
    async with looking(Role.ADMIN, name="root") as browser:
        new = {"name": "ann", "password": "password1234", "role": "viewer"}
        refused = await browser.post("/settings/people/add", data=new)
        after = await browser.get(refused.headers["location"])

    assert "one of those that are tried first" in after.text
    assert "password1234" not in after.text
    assert machine.count("holdfast.person") == 0


async def test_nobody_locks_themselves_out(machine: Machine, looking: Looking) -> None:
    person(machine, "root", Role.ADMIN)

    async with looking(Role.ADMIN, name="root") as browser:
        page = await browser.get("/settings/people")
        await browser.post("/settings/people/disable", data={"name": "root", "reason": "oops"})
        await browser.post("/settings/people/role", data={"name": "root", "role": "viewer"})

    assert "This is you: another admin does it" in page.text
    row = machine.one("select role, disabled_at from holdfast.person")
    assert row == {"role": "admin", "disabled_at": None}


# -- alerts, flags, retention --------------------------------------------------------------------------------------------------


async def test_a_rule_says_what_it_watches_and_is_muted(machine: Machine, looking: Looking) -> None:
    watched(machine)

    async with looking() as browser:
        page = await browser.get("/settings/alerts")
        await browser.post("/settings/alerts/mute", data={"name": "nobody works", "reason": "night"})
        muted = await browser.get("/settings/alerts")
        await browser.post("/settings/alerts/unmute", data={"name": "nobody works", "reason": "day"})

    assert "jobs have waited for longer than 1 min in any queue, which no worker serves" in page.text
    assert "muted" in muted.text
    assert machine.value("select enabled from holdfast.alert_rule")


async def test_a_test_message_goes_through_the_outbox(machine: Machine, looking: Looking) -> None:
    watched(machine)

    async with looking() as browser:
        done = await browser.post("/settings/alerts/test", data={"name": "slack"})
        unknown = await browser.post("/settings/alerts/test", data={"name": "nothing"})
        after = await browser.get(unknown.headers["location"])

    assert done.status_code == 303
    assert machine.one("select channel, kind from holdfast.notification") == {
        "channel": "slack",
        "kind": "message",
    }
    assert "no channel is called" in after.text


async def test_a_flag_is_switched_for_a_share(machine: Machine, looking: Looking) -> None:
    machine.register("mail", options={"flag": "new_mailer"})

    async with looking() as browser:
        done = await browser.post(
            "/settings/tasks/flag",
            data={"name": "new_mailer", "state": "on", "percent": "25", "reason": "slowly"},
        )
        page = await browser.get(done.headers["location"])

    assert "on for 25 %" in page.text
    assert "slowly" in page.text


async def test_retention_is_told_by_task(machine: Machine, looking: Looking) -> None:
    machine.register("kept")
    machine.register("short", retention=86400 * 30)

    async with looking(Role.VIEWER) as browser:
        page = await browser.get("/settings/tasks")

    assert "for ever" in page.text
    assert "for 30d 0h" in page.text


# -- system --------------------------------------------------------------------------------------------------------------------


async def test_the_system_tells_versions_sizes_and_what_doctor_says(
    machine: Machine, looking: Looking
) -> None:
    async with looking() as browser:
        system = await browser.get("/settings/system")
        doctor = await browser.get("/settings/doctor")

    for words in ("PostgreSQL", "current (", "Oldest transaction", "job_history", "Dead rows"):
        assert words in system.text
    assert "job_history_rest" not in system.text
    assert "notifications pass" in doctor.text
    assert "check-ok" in doctor.text


async def test_empty_settings_teach(looking: Looking) -> None:
    async with looking(Role.ADMIN) as browser:
        pages = [await browser.get(f"/settings/{tab}") for tab in ("alerts", "tasks", "keys", "people")]

    for page, words in zip(
        pages, ("app.alerts.rule(", "flag=", "holdfast key create", "holdfast user add"), strict=True
    ):
        assert words in page.text


async def test_names_stay_text(machine: Machine, looking: Looking) -> None:
    watched(machine, name=HOSTILE)
    machine.register("mail", options={"flag": HOSTILE})

    async with looking(Role.ADMIN, name=HOSTILE) as browser:
        await browser.post("/settings/keys/create", data={"name": HOSTILE, "read": "on"})
        pages = [await browser.get(f"/settings/{tab}") for tab in ("alerts", "tasks", "keys", "people")]

    for page in pages:
        assert HOSTILE not in page.text
        assert "<b onmouseover" not in page.text
