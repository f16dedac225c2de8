"""Changing a schedule: what is written is told in words before it counts, and code's schedules are left to code."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from dashboard.conftest import Looking
from dashboard.looks import panel_of, words_of
from holdfast.domain.access import Role
from sql.support import Machine

EDIT = "/schedules/nightly/edit"
FILLED = {
    "cron": "30 6 * * 1",
    "tz": "Europe/Lisbon",
    "missed": "skip",
    "overlap": "replace",
    "reason": "earlier",
}


@pytest.fixture(autouse=True)
def _scheduled(machine: Machine) -> None:
    machine.register("report")
    given = {
        "name": "nightly", "task": "report", "cron": "0 2 * * *", "payload": {"of": "sales"}, "options": {"priority": 3},
    }  # fmt: skip
    machine.run("select holdfast.create_schedule(%s)", Jsonb(given))


def stored(machine: Machine) -> dict[str, Any]:
    return machine.one("select * from holdfast.schedule where name = 'nightly'")


async def test_the_form_says_what_is_and_when_it_would_fire(looking: Looking) -> None:
    async with looking() as browser:
        page = (await browser.get(EDIT)).text
        changed = (await browser.get(EDIT, params={"cron": "", "every": "15m"})).text
        alone = (await browser.get(EDIT, params={"every": "15m", "panel": "schedule_preview"})).text

    assert 'value="0 2 * * *"' in page
    assert "sales" in page
    assert "at 02:00" in words_of(panel_of(page, "schedule-preview"))
    preview = panel_of(changed, "schedule-preview")
    assert "It fires every 15 min." in words_of(preview)
    assert preview.count("<li>") == 3
    assert "It fires every 15 min." in words_of(alone)


async def test_what_makes_no_sense_is_told_in_a_sentence(looking: Looking) -> None:
    async with looking() as browser:
        for written, told in (
            ({"cron": "61 * * * *"}, "cron line"),
            ({"cron": "0 2 * * *", "every": "1h"}, "and not both"),
            ({"cron": "", "every": "soon"}, "is no interval"),
            ({"cron": "0 2 * * *", "tz": "Mars/Base"}, "is no time zone"),
        ):
            page = (await browser.get(EDIT, params=written)).text
            assert told in panel_of(page, "schedule-preview")


async def test_a_change_counts_from_now_on_and_is_in_the_audit(looking: Looking, machine: Machine) -> None:
    async with looking(name="ann") as browser:
        answer = await browser.post(EDIT, data={**FILLED, "payload": '{"of": "stock"}'})
        page = (await browser.get(answer.headers["location"])).text

    now = stored(machine)
    assert answer.headers["location"] == "/schedules/nightly"
    assert "from now on" in page
    assert (now["cron"], now["tz"], now["missed"], now["overlap"]) == (
        "30 6 * * 1",
        "Europe/Lisbon",
        "skip",
        "replace",
    )
    assert (now["payload"], now["options"]["priority"]) == ({"of": "stock"}, 3)
    done = machine.one("select actor, action, reason, data from holdfast.audit")
    assert (done["actor"], done["action"], done["reason"]) == ("ann", "schedule.edit", "earlier")
    assert done["data"]["payload"] == "replaced"


async def test_a_payload_that_is_left_alone_stays(looking: Looking, machine: Machine) -> None:
    async with looking() as browser:
        await browser.post(EDIT, data={**FILLED, "cron": "", "every": "1h"})

    assert stored(machine)["payload"] == {"of": "sales"}
    assert stored(machine)["every"].total_seconds() == 3600


async def test_what_is_hidden_of_a_payload_is_not_overwritten(looking: Looking, machine: Machine) -> None:
    machine.run(
        "update holdfast.task set options = options || '{\"redact\": [\"of\"]}' where name = 'report'"
    )
    async with looking() as browser:
        page = (await browser.get(EDIT)).text
        answer = await browser.post(EDIT, data={**FILLED, "payload": '{"of": "[redacted]", "more": 1}'})
        kept = await browser.post(EDIT, data={**FILLED, "payload": '{"of": "[redacted]"}'})

    assert "sales" not in page
    assert "hidden" in panel_of(page, "schedule-form")
    assert answer.headers["location"].startswith(EDIT)
    assert kept.headers["location"] == "/schedules/nightly"
    assert stored(machine)["payload"] == {"of": "sales"}


async def test_what_cannot_be_saved_stays_in_the_form(looking: Looking, machine: Machine) -> None:
    async with looking() as browser:
        answer = await browser.post(EDIT, data={**FILLED, "payload": "{of: stock}"})
        page = (await browser.get(answer.headers["location"])).text

    assert "Nothing was changed: the payload is no JSON" in page
    assert "{of: stock}" in page
    assert 'value="30 6 * * 1"' in page
    assert stored(machine)["cron"] == "0 2 * * *"


async def test_code_owns_what_it_declares(looking: Looking, machine: Machine) -> None:
    machine.run("update holdfast.schedule set declared = true")
    async with looking(Role.ADMIN) as browser:
        card = (await browser.get("/schedules/nightly")).text
        form = (await browser.get(EDIT)).text
        answer = await browser.post(EDIT, data=FILLED)
        said = (await browser.get(answer.headers["location"])).text

    assert "code, which owns it" in card
    assert 'href="/schedules/nightly/edit"' not in card
    assert "declared in code" in form
    assert "declared in code" in said
    assert stored(machine)["cron"] == "0 2 * * *"


@pytest.mark.parametrize(
    ("role", "tenant"), [(Role.VIEWER, None), (Role.APPROVER, None), (Role.ADMIN, "acme")]
)
async def test_who_may_not_steer_may_not_edit(
    looking: Looking, machine: Machine, role: Role, tenant: str | None
) -> None:
    async with looking(role, tenant=tenant) as browser:
        form = (await browser.get(EDIT)).text
        await browser.post(EDIT, data=FILLED)

    assert "<textarea" not in form
    assert stored(machine)["cron"] == "0 2 * * *"
