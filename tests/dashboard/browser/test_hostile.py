"""Text that jobs, workers and people bring is text, on every page that shows it: nothing of it runs, and all of it can be read."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from psycopg.types.json import Jsonb

from dashboard.browser.hostile import CALLED, CLIMBING, STRINGS, TRIES
from dashboard.browser.scene import Place, open_place
from holdfast import Holdfast
from holdfast.domain.segments import segment_of
from holdfast.domain.states import Status
from holdfast.testing import TestServer
from sql.asking import asked
from sql.support import Machine
from sql.test_project import project_all
from world.browser import Window
from world.often import LONG

TABS = ("timeline", "steps", "attempts", "payload", "graph", "audit")
COLUMNS = "state,id,label,tenant,queue,now,subject,key,tags,requested_by,payload.a,meta.a"
# Ever another try out of ever another place; with every run of the tests fewer than in the long mode.
_TRIED = STRINGS[len(CLIMBING) :] if LONG else STRINGS[::3]
LISTED = CLIMBING + _TRIED
SOME = LISTED[:: len(TRIES) + 1 if LONG else 7]
FEW = _TRIED[:: 2 * len(TRIES) + 3 if LONG else 14]
# Whose the other jobs are: pages list as many tenants as there are strings, and none more.
TENANT = LISTED[-1]


@pytest.fixture(scope="module")
def jobs(place: Place) -> list[UUID]:
    """Leave a failed job of each string, with the string wherever a job has text."""
    machine = place.machine
    definitions = [{"name": text, "queue": text} for text in LISTED]
    machine.value("select holdfast.register_tasks(%s)", Jsonb(definitions))
    made = [failed(machine, text) for text in LISTED]
    for text in LISTED:
        machine.worker(text)
    project_all(machine)
    return made


@pytest.fixture(scope="module")
def place(holdfast_server: TestServer) -> Iterator[Place]:
    with open_place(holdfast_server, lambda database: database.use(Holdfast())) as place:
        yield place


def failed(machine: Machine, text: str) -> UUID:
    job = machine.enqueue(
        text, {"a": text, text: [text]}, queue=text, tenant=text, label=text, subject=text, key=text, requested_by=text,
        tags=Jsonb([text]), metadata=Jsonb({"a": text}),
    )  # fmt: skip
    machine.move(job, Status.RUNNING)
    told = json.dumps({"type": text, "message": text, "traceback": text})
    machine.move(job, Status.FAILED, error=told, reason=text)
    return job


def looked_at(page: Page, taken: list[str], address: str) -> None:
    page.goto(address)
    page.locator("#live[data-state=live]").wait_for()
    assert page.locator("p.failed").all_inner_texts() == []
    assert taken == []
    assert page.locator("main :is(script, iframe, base, [onerror], [onload], [hx-on\\:load])").count() == 0


@pytest.fixture(scope="module")
def window(chromium: Browser, place: Place, taken: list[str]) -> Iterator[Window]:
    """Give one window for all tests: each new one would fetch and compile again what all pages load."""
    with place.window(chromium) as window:
        window.page.expose_function(CALLED, lambda *_given: taken.append(window.page.url))
        yield window


@pytest.fixture
def page(window: Window, taken: list[str]) -> Iterator[Page]:
    taken.clear()
    yield window.page
    assert taken == []
    assert window.take_faults() == []


@pytest.fixture(scope="module")
def taken() -> list[str]:
    """Collect where a string got its way."""
    return []


def test_jobs_are_listed_by_whatever_they_are_called(page: Page, taken: list[str], jobs: list[UUID]) -> None:
    seen: dict[str, set[str]] = {}
    address: str | None = f"/jobs?columns={COLUMNS}"
    while address:
        looked_at(page, taken, address)
        for name in ("task", "label", "tenant", "queue", "subject", "tags", "field"):
            seen.setdefault(name, set()).update(
                text.strip() for text in page.locator(f"#job-list .column-{name}").all_text_contents()
            )
        older = page.get_by_role("link", name="Older")
        address = older.get_attribute("href") if older.count() else None

    wanted = {text.strip() for text in LISTED}
    assert len(jobs) == len(wanted) == len(LISTED)
    assert {name: wanted - texts for name, texts in seen.items() if wanted - texts} == {}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/queues",
        "/usage",
        "/activity",
        "/activity?show=actions",
        "/settings/tasks",
        "/operations/new?action=retry&q=status:failed",
    ],
)
def test_pages_about_many_show_names_as_they_are(
    page: Page, taken: list[str], jobs: list[UUID], path: str
) -> None:
    assert jobs

    looked_at(page, taken, path)

    if path in ("/queues", "/usage"):
        shown = set(page.locator("main th, main td, main a").all_text_contents())
        assert {text for text in LISTED if not any(text in told for told in shown)} == set()


def test_the_pages_of_a_job_show_its_text_as_it_is(page: Page, taken: list[str], jobs: list[UUID]) -> None:
    made = dict(zip(LISTED, jobs, strict=True))
    for number, (text, job) in enumerate((text, made[text]) for text in SOME):
        looked_at(page, taken, f"/jobs/{job}?tab={TABS[number % len(TABS)]}")
        expect(page.locator(".job-title")).to_have_text(text)
        expect(page.locator(".job-why")).to_contain_text(text)


def test_pages_about_one_show_its_name_as_it_is(page: Page, taken: list[str], jobs: list[UUID]) -> None:
    assert jobs

    for text in CLIMBING + FEW:
        for kind in ("queues", "usage"):
            looked_at(page, taken, f"/{kind}/{segment_of(text)}")
            expect(page.locator("h1")).to_have_text(text)


def asked_for(page: Page, button: Locator) -> None:
    button.click()
    form = page.locator("details[open] form")
    form.get_by_label("Reason").fill("named so")
    form.locator("button[type=submit]").click()


def test_a_link_and_a_form_mean_what_they_stand_beside(
    place: Place, page: Page, taken: list[str], jobs: list[UUID]
) -> None:
    assert jobs

    for text in CLIMBING:
        looked_at(page, taken, "/queues")
        row = page.locator("#queue-list tr", has=page.get_by_role("link", name=text, exact=True))
        asked_for(page, row.locator("summary", has_text="Pause"))
        expect(page.get_by_role("status")).to_contain_text("is paused")
        paused = "select array_agg(name::text) from holdfast.queue where paused_at is not null"
        assert place.machine.value(paused) == [text]

        row.get_by_role("link", name=text, exact=True).click()
        expect(page.locator("h1")).to_have_text(text)
        asked_for(page, page.locator("summary", has_text="Resume").first)
        expect(page.locator("h1")).to_have_text(text)
        assert place.machine.value(paused) is None


def test_a_payload_of_all_strings_is_shown_and_copied_as_it_is(
    place: Place, page: Page, taken: list[str]
) -> None:
    place.machine.register("t")
    job = place.machine.enqueue("t", {text: text for text in STRINGS}, tenant=TENANT)

    looked_at(page, taken, f"/jobs/{job}?tab=payload")

    shown = str(page.locator("#job-tab").text_content())
    assert [text for text in STRINGS if text not in shown] == []
    copied = page.locator("[data-copy]", has_text="JSON").get_attribute("data-copy")
    assert json.loads(str(copied)) == {text: text for text in STRINGS}


def test_a_question_is_asked_as_it_is(place: Place, page: Page, taken: list[str]) -> None:
    place.machine.register("t")
    gate: dict[str, Any] = {
        "facts": {text: text for text in STRINGS},
        "question": "".join(STRINGS)[:900],
        "approvers": [*STRINGS[:20]],
    }
    approval = asked(place.machine, enqueued={"tenant": TENANT}, name=STRINGS[3], **gate)

    looked_at(page, taken, f"/approvals/{approval.approval_id}")

    shown = str(page.locator("#approval-card").text_content())
    assert [text for text in STRINGS if text not in shown] == []
    assert gate["question"] in shown


def test_what_is_searched_for_is_repeated_as_it_is(page: Page, taken: list[str]) -> None:
    for text in FEW:
        looked_at(
            page,
            taken,
            f"/jobs?q={quote(text, safe='')}&columns={quote(text, safe='')}&range={quote(text, safe='')}",
        )
        expect(page.locator("#search")).to_have_value(text)
