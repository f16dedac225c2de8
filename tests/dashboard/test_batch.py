"""Batch operations: looked at before, confirmed by typing, carried out once, followed and stopped."""

import re
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from dashboard.conftest import Looking
from holdfast import Holdfast
from holdfast.domain.access import Role
from holdfast.domain.states import Status
from service.asking import leave_failed
from sql.support import Machine
from sql.test_project import project_all
from world.draining import adrain

NEW = "/operations/new"


@pytest.fixture
def failed(machine: Machine) -> int:
    """Leave 120 jobs FAILED, more than are taken without typing."""
    machine.register("refuse")
    machine.enqueue_many([{"task": "refuse", "payload": {}, "tenant": "acme"} for _ in range(120)])
    leave_failed(machine.connection, "refuse")
    return 120


def fields(page: str) -> dict[str, str]:
    """Read what the preview's form would send if nobody typed anything."""
    form = page[page.index(f'action="{NEW}"') :]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[: form.index("</form>")])
    return {name: unescape(value) for name, value in found}


async def previewed(browser: httpx.AsyncClient, **query: str) -> str:
    answer = await browser.get(NEW, params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


async def sent(browser: httpx.AsyncClient, **form: Any) -> tuple[str, str]:
    """Send the form; give where it leads, and what is said there."""
    answer = await browser.post(NEW, data=form)
    assert answer.status_code == 303, answer.text
    there = answer.headers["location"]
    shown = await browser.get(there)
    said = re.search(r'<p class="notice" role="status">([^<]*)</p>', shown.text)
    assert said, shown.text
    return there, unescape(said[1])


async def test_many_jobs_run_again_after_a_look_a_typed_number_and_a_reason(
    looking: Looking, app: Holdfast, machine: Machine, failed: int
) -> None:
    async with looking() as browser:
        page = await previewed(browser, action="retry", q="task:refuse")
        there, said = await sent(browser, **fields(page), typed="120", reason="the bank is back")
        before = (await browser.get(there)).text
        await adrain(app, queues={"holdfast": 1})
        after = (await browser.get(there)).text

    assert "Run again: 120 jobs" in page
    assert page.count("<tr>") == 1 + 5
    assert said == "Begun: 120 jobs are run again."
    assert "0 of 120 run again, 0 skipped. It goes on by itself" in before
    assert "Stop the operation" in before
    assert "Done: 120 of 120 run again, 0 skipped." in after
    assert "Stop the operation" not in after
    assert "the bank is back" in after
    assert machine.value("select count(*) from holdfast.job where retry_of is not null") == 120


async def test_nothing_is_done_before_the_number_is_typed(
    looking: Looking, machine: Machine, failed: int
) -> None:
    async with looking() as browser:
        form = fields(await previewed(browser, action="retry", q="task:refuse"))
        nothing = await sent(browser, **form, reason="why not")
        wrong = await sent(browser, **form, typed="12", reason="why not")

    assert (
        nothing == wrong == (f"{NEW}?action=retry&q=task%3Arefuse", "Nothing was done: type 120 to confirm.")
    )
    assert machine.count("holdfast.operation") == 0


async def test_stopping_is_always_confirmed_and_running_a_few_again_is_not(
    looking: Looking, machine: Machine
) -> None:
    machine.register("charge")
    waiting = machine.enqueue("charge")
    again = machine.job_in(Status.FAILED, "charge")

    async with looking() as browser:
        stop = await previewed(browser, action="cancel", q="task:charge")
        run = await previewed(browser, action="retry", q="task:charge")

    assert "Type 1 to confirm" in stop
    assert "Type " not in run
    assert str(waiting) in stop
    assert str(waiting) not in run
    assert str(again) in run


async def test_chosen_jobs_are_taken_by_their_ids_and_others_are_skipped_with_the_reason(
    looking: Looking, app: Holdfast, machine: Machine
) -> None:
    machine.register("charge")
    waiting, ended = machine.enqueue("charge"), machine.job_in(Status.COMPLETED, "charge")
    other = machine.enqueue("charge")

    async with looking() as browser:
        answer = await browser.get(
            NEW,
            params=[("action", "cancel"), ("q", "since:7d"), ("pick", str(waiting)), ("pick", str(ended))],
        )
        there, _ = await sent(browser, **fields(answer.text), typed="2", reason="not needed")
        await adrain(app, queues={"holdfast": 1})
        page = (await browser.get(there)).text

    assert machine.status(waiting) is Status.CANCELLED
    assert machine.status(other) is not Status.CANCELLED
    assert "1 of 2 stopped, 1 skipped" in page
    assert "it is COMPLETED" in page
    assert str(ended) in page


async def test_all_that_match_counts_more_than_what_was_chosen(
    looking: Looking, machine: Machine, failed: int
) -> None:
    async with looking() as browser:
        page = await previewed(browser, action="retry", q="task:refuse", pick=str(uuid4()), all="1")

    assert "Run again: 120 jobs" in page


async def test_nothing_is_done_when_far_more_fit_than_were_seen(
    looking: Looking, machine: Machine, failed: int
) -> None:
    async with looking() as browser:
        form = fields(await previewed(browser, action="retry", q="task:refuse"))
        machine.enqueue_many([{"task": "refuse", "payload": {}} for _ in range(20)])
        leave_failed(machine.connection, "refuse")
        there, said = await sent(browser, **form, typed="120", reason="again")

    assert said == "Nothing was done: 140 jobs fit, more than the 132 that were expected: look again"
    assert there.startswith(NEW)
    assert machine.count("holdfast.operation") == 0


async def test_an_operation_is_stopped_with_a_reason(looking: Looking, machine: Machine, failed: int) -> None:
    async with looking() as browser:
        form = fields(await previewed(browser, action="retry", q="task:refuse"))
        there, _ = await sent(browser, **form, typed="120", reason="again")
        await browser.post(f"{there}/cancel", data={"reason": "a mistake"})
        page = (await browser.get(there)).text
        listed = (await browser.get("/operations")).text

    assert "Ended before its end: 0 of 120 run again" in page
    assert there in listed


async def test_a_viewer_may_look_and_not_act(looking: Looking, machine: Machine, failed: int) -> None:
    async with looking() as operator:
        form = fields(await previewed(operator, action="retry", q="task:refuse"))
    async with looking(Role.VIEWER) as browser:
        page = await previewed(browser, action="retry", q="task:refuse")
        answer = await browser.post(NEW, data={**form, "typed": "120", "reason": "let me"})

    assert "it takes an operator" in page
    assert '<form method="post" action="/operations' not in page
    assert answer.status_code == 303
    assert machine.count("holdfast.operation") == 0


async def test_another_tenants_jobs_are_neither_counted_nor_touched(
    looking: Looking, app: Holdfast, machine: Machine, failed: int
) -> None:
    job_id: UUID = machine.value("select id from holdfast.job limit 1")

    async with looking(tenant="globex") as browser:
        page = await previewed(browser, action="retry", q="task:refuse")
        there, _ = await sent(
            browser, action="retry", jobs=str(job_id), number="1", counted="1", reason="mine?"
        )
        await adrain(app, queues={"holdfast": 1})
        shown = (await browser.get(there)).text
    async with looking(tenant="initech") as stranger:
        hidden = await stranger.get(there)

    assert "There is nothing to do." in page
    assert "0 of 1 run again, 1 skipped" in shown
    assert machine.value("select count(*) from holdfast.job where retry_of is not null") == 0
    assert "globex" not in hidden.text
    assert "run again" not in hidden.text


@pytest.mark.parametrize(
    "form",
    [
        {"action": "delete", "q": "x", "number": "1", "reason": "x"}, {"action": "retry", "number": "1", "counted": "1", "reason": "x"},
        {"action": "retry", "jobs": "x", "number": "1", "counted": "1", "reason": "x"},
        {"action": "retry", "q": "foo:bar", "number": "1", "counted": "1", "reason": "x"}, {"action": "retry", "q": "task:x", "number": "1"},
    ],
)  # fmt: skip
async def test_forms_that_nobody_could_send_do_nothing(
    looking: Looking, machine: Machine, form: dict[str, str]
) -> None:
    async with looking() as browser:
        answer = await browser.post(NEW, data=form)

    assert answer.status_code in {303, 422}
    assert machine.count("holdfast.operation") == 0


# -- priority, queue, deletion ---------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(machine: Machine) -> int:
    """Leave three jobs waiting, and a second queue."""
    machine.register("charge")
    machine.register("other", queue="slow")
    for _ in range(3):
        machine.enqueue("charge")
    return 3


async def test_many_jobs_get_another_priority(
    looking: Looking, app: Holdfast, machine: Machine, waiting: int
) -> None:
    async with looking() as browser:
        page = await previewed(browser, action="reprioritise", q="task:charge")
        there, said = await sent(browser, **fields(page), priority="-7", reason="not urgent")
        await adrain(app, queues={"holdfast": 1})
        after = (await browser.get(there)).text

    assert "Set priority: 3 jobs" in page
    assert "Type " not in page
    assert said == "Begun: 3 jobs are given priority -7."
    assert "Set priority -7: 3 jobs" in after
    assert "Done: 3 of 3 given priority -7, 0 skipped." in after
    assert machine.rows("select distinct priority from holdfast.job where task = 'charge'") == [
        {"priority": -7}
    ]


async def test_many_jobs_are_moved_to_a_queue_that_is_chosen(
    looking: Looking, app: Holdfast, machine: Machine, waiting: int
) -> None:
    async with looking() as browser:
        page = await previewed(browser, action="move", q="task:charge")
        _, unknown = await sent(browser, **fields(page), queue="slwo", reason="why not")
        _, said = await sent(browser, **fields(page), queue="slow", reason="make room")
        await adrain(app, queues={"holdfast": 1})

    assert "<option >slow</option>" in page
    assert "<option >holdfast</option>" not in page
    assert "no task declares this queue" in unknown
    assert said == "Begun: 3 jobs are moved to slow."
    assert machine.rows("select distinct queue from holdfast.job where task = 'charge'") == [
        {"queue": "slow"}
    ]


async def test_deleting_is_for_admins_and_always_confirmed(
    looking: Looking, app: Holdfast, machine: Machine
) -> None:
    machine.register("charge")
    machine.job_in(Status.FAILED, "charge")
    machine.enqueue("charge")
    project_all(machine)

    async with looking(Role.OPERATOR) as browser:
        operators = await previewed(browser, action="delete", q="task:charge")
        listed = (await browser.get("/jobs")).text
        refused = await sent(
            browser, action="delete", q="task:charge", number="1", counted="1", typed="1", reason="why not"
        )
    async with looking(Role.ADMIN, name="ann") as browser:
        admins = (await browser.get("/jobs")).text
        page = await previewed(browser, action="delete", q="task:charge")
        untyped = await sent(browser, **fields(page), reason="the customer asked")
        _, said = await sent(browser, **fields(page), typed="1", reason="the customer asked")
        await adrain(app, queues={"holdfast": 1})

    assert "it takes an admin" in operators
    assert 'value="delete"' not in listed
    assert 'value="delete"' in admins
    assert "admin" in refused[1]
    assert "Delete for ever: 1 job" in page
    assert untyped[1] == "Nothing was done: type 1 to confirm."
    assert said == "Begun: 1 job is deleted."
    assert machine.rows("select status::text from holdfast.job where task = 'charge'") == [
        {"status": "PENDING"}
    ]
    kept = machine.rows("select actor, reason from holdfast.audit where action = 'job.delete'")
    assert kept == [{"actor": "ann", "reason": "the customer asked"}]
