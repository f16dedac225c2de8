"""What people come to the dashboard for, each story from its beginning to its end."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, Route, expect

from dashboard.browser.scene import Place, bank_answers, open_place, shop
from guarantees import shop as held
from guarantees.conftest import Stage
from guarantees.waiting import until
from guarantees.workers import Launcher
from holdfast.domain.states import Status
from holdfast.testing import TestServer
from service.asking import leave_failed
from world.browser import axe_faults, overflow, picture
from world.often import LONG

MANY_JOBS = 5_000


@pytest.fixture(scope="module")
def place(holdfast_server: TestServer) -> Iterator[Place]:
    """Give a shop to do things in; each story has jobs of its own."""
    with open_place(holdfast_server, shop) as place:
        yield place


def in_form(page: Page, button: str, **fields: str) -> None:
    """Fill the form that is open, and press its button."""
    form = page.locator("details.asking[open] form")
    for label, text in fields.items():
        form.get_by_label(re.compile(label.replace("_", " "), re.IGNORECASE)).fill(text)
    form.get_by_role("button", name=button, exact=True).click()


def seen(page: Page, what: list[Any]) -> bool:
    page.evaluate("0")  # what happens in the browser is heard only while something is asked of it
    return bool(what)


def test_a_failed_job_is_found_by_its_order_number_understood_and_run_again(
    chromium: Browser, place: Place
) -> None:
    charge = place.app.tasks["charge_card"]
    for order in (4710, 4711, 4712):
        charge.using(label=f"order {order} · ana@example.com").enqueue(order, "ana@example.com")
    place.drain()
    bank_answers.add(4711)

    with place.looking(chromium, "ben") as page:
        page.goto("/")
        page.get_by_label("Search jobs").fill("4711")
        page.keyboard.press("Enter")
        expect(page.locator("#job-list tbody tr")).to_have_count(1)
        page.get_by_role("link", name="charge_card").click()
        expect(page.locator(".job-why")).to_contain_text(
            "TimeoutError: the bank did not answer about order 4711"
        )
        picture(page, "story understand")
        page.locator("summary", has_text="Run again").click()
        in_form(page, "Run again", reason="the bank is back")
        expect(page.get_by_role("status").first).to_contain_text("runs again as this one")
        expect(page.locator("h1")).to_contain_text("Pending")
        place.drain()
        expect(page.locator("h1")).to_contain_text("Completed")
        expect(page.locator("#job-header")).to_contain_text("order 4711")


@pytest.mark.parametrize("width", [390, 360] if LONG else [360])
def test_an_approval_is_decided_with_one_thumb(chromium: Browser, place: Place, width: int) -> None:
    job = place.app.tasks["refund"].enqueue(width, 900)
    place.drain()

    phone = {"viewport": {"width": width, "height": 740}, "has_touch": True, "is_mobile": True}
    with place.looking(chromium, "cleo", **phone) as page:
        page.goto("/")
        page.locator("nav.sections").get_by_role("link", name="Approvals").tap()
        card = page.locator(".inbox-list a", has_text=f"Refund 900 € of order {width}?")
        assert too_small([card, *page.locator("nav.sections > :visible").all()]) == []
        card.tap()
        for fact in (
            "ana@example.com",
            "The job goes on from here at once.",
            "It waits: there is no deadline.",
        ):
            expect(page.locator("#approval-card")).to_contain_text(fact)
        approve, deny = (page.locator(".decide summary", has_text=word) for word in ("Approve", "Deny"))
        assert too_small([approve, deny]) == []
        deny.tap()
        in_form(page, "Deny")  # without a reason, which the browser does not let pass
        expect(page.locator(".decide details[open] input[name=reason]")).to_be_focused()
        page.locator(".decide details[open]").get_by_role("button", name="Back").tap()
        approve.tap()
        form = page.locator(".decide details[open] form")
        assert too_small([*form.get_by_role("button").all(), form.get_by_label("Reason")]) == []
        assert (overflow(page), axe_faults(page)) == (0, [])
        picture(page, f"story approve {width}", whole=False)
        form.get_by_role("button", name="Approve").tap()
        expect(page.get_by_role("status").first).to_have_text(f"Approved: Refund 900 € of order {width}?")
        expect(page.locator(".inbox-list a", has_text=f"order {width}?")).to_contain_text("Approved by cleo")
        picture(page, f"story approved {width}", whole=False)

    place.drain()
    assert place.machine.status(job.id) is Status.COMPLETED


def too_small(targets: list[Locator]) -> list[str]:
    """Name what a thumb would miss."""
    boxes = [(each, each.bounding_box()) for each in targets]
    return [
        f"{each}: {box}"
        for each, box in boxes
        if box is None or round(box["height"]) < 44 or round(box["width"]) < 44
    ]


def test_of_two_who_decide_at_once_the_second_learns_who_was_first(chromium: Browser, place: Place) -> None:
    job = place.app.tasks["refund"].enqueue(9, 901)
    place.drain()
    approval = place.machine.value("select approval_id from holdfast.job where id = %s", job.id)

    with place.looking(chromium, "cleo") as page:
        page.goto(f"/approvals/{approval}")
        page.locator(".decide summary", has_text="Deny").click()
        place.machine.run("select holdfast.decide(%s, 'ann', 'approve', null, null, null)", approval)
        in_form(page, "Deny", why_not="too much")
        expect(page.locator(".verdict")).to_contain_text("Already approved by ann")
        expect(page.get_by_role("status").first).to_contain_text("ann")


def test_a_form_stays_that_was_opened_while_a_page_without_it_was_on_the_way(
    chromium: Browser, place: Place
) -> None:
    job = place.app.tasks["refund"].enqueue(10, 902)
    place.drain()
    approval = place.machine.value("select approval_id from holdfast.job where id = %s", job.id)
    on_the_way: list[Route] = []
    come: list[Response] = []

    with place.looking(chromium, "cleo") as page:
        page.route(re.compile("panel=approval_card"), lambda route: on_the_way.append(route))  # noqa: PLW0108 - Playwright marks it
        page.goto(f"/approvals/{approval}")
        page.locator("#live[data-state=live]").wait_for()
        place.machine.run("select holdfast.decide(%s, 'ann', 'approve', null, null, null)", approval)
        until("the card is asked for", lambda: seen(page, on_the_way))
        page.locator(".decide summary", has_text="Deny").click()
        page.on(
            "response", lambda answer: come.append(answer) if "panel=approval_card" in answer.url else None
        )
        while on_the_way:
            on_the_way.pop().continue_()
        until("the card has come", lambda: seen(page, come))
        come[0].finished()
        expect(page.locator("#approval-card[aria-busy]")).to_have_count(0)
        expect(page.locator("#live")).to_have_attribute("data-state", "updates wait")
        page.unroute_all()
        in_form(page, "Deny", why_not="too much")
        expect(page.locator(".verdict")).to_contain_text("Already approved by ann")


def test_a_queue_is_paused_and_resumed(chromium: Browser, place: Place) -> None:
    place.drain()  # a worker that was there once has declared the queue
    with place.looking(chromium, "ben") as page:
        page.goto("/queues")
        row = page.locator("#queue-list tr", has=page.get_by_role("link", name="mail", exact=True))
        row.locator("summary", has_text="Pause").click()
        in_form(page, "Pause", reason="the mail server moves")
        expect(page.get_by_role("status").first).to_contain_text("Queue mail is paused")
        expect(row).to_contain_text("paused by ben")
        expect(row).to_contain_text("the mail server moves")
        job = place.app.tasks["send_mail"].enqueue("a@example.com")
        place.drain()
        page.goto(f"/jobs/{job.id}")
        expect(page.locator(".job-why")).to_contain_text("queue mail paused by ben")
        page.goto("/queues/mail")
        page.locator("summary", has_text="Resume").click()
        in_form(page, "Resume", reason="it has moved")
        expect(page.get_by_role("status").first).to_contain_text("Queue mail runs again")

    place.drain()
    assert place.machine.status(job.id) is Status.COMPLETED


def test_five_thousand_failed_jobs_are_run_again_at_once(chromium: Browser, place: Place) -> None:
    place.machine.register("refuse", queue="elsewhere")
    place.machine.enqueue_many([{"task": "refuse", "payload": {"n": n}} for n in range(MANY_JOBS)])
    leave_failed(place.machine.connection, "refuse")

    with place.looking(chromium, "ben") as page:
        page.goto("/jobs?q=task:refuse")
        page.get_by_label("Choose all on this page").check()
        page.get_by_label("that match").check()  # the preview counts them
        picture(page, "story bulk chosen", whole=False)
        page.get_by_role("button", name="Run again…").click()
        expect(page.locator("#operation-preview h2")).to_have_text("Run again: 5,000 jobs")
        expect(page.locator("#operation-preview tbody tr")).to_have_count(5)
        page.get_by_label("Reason").fill("the bank is back")
        page.get_by_label("Type 5000 to confirm").fill("500")
        page.get_by_role("button", name="Run again: 5,000 jobs").click()
        expect(page).to_have_url(
            re.compile("/operations/new")
        )  # the browser does not let another number pass
        page.get_by_label("Type 5000 to confirm").fill("5000")
        page.get_by_role("button", name="Run again: 5,000 jobs").click()
        expect(page.get_by_role("status").first).to_have_text("Begun: 5,000 jobs are run again.")
        expect(page.locator("#operation-progress")).to_contain_text("0 of 5,000 run again")
        seen = watch_progress(page)
        place.drain()
        expect(page.locator("#operation-progress")).to_contain_text(
            "Done: 5,000 of 5,000 run again, 0 skipped."
        )
        picture(page, "story bulk done", whole=False)
        assert page.evaluate(seen) > 1  # more than its end was shown

    again = "select count(*) from holdfast.job where task = 'refuse' and status = 'PENDING' and retry_of is not null"
    assert place.machine.value(again) == MANY_JOBS


def watch_progress(page: Page) -> str:
    """Count what the page says about progress from now on; gives what tells the count."""
    page.evaluate("""() => {
        window.said = new Set();
        const look = () => window.said.add(document.querySelector("#operation-progress [role=status]").textContent);
        new MutationObserver(look).observe(document.querySelector("#operation-progress"), {subtree: true, childList: true, characterData: true});
    }""")
    return "window.said.size"


def test_a_job_is_followed_through_the_death_of_its_worker(
    chromium: Browser, place: Place, tmp_path: Path
) -> None:
    place.database.use(held.app)
    launcher = Launcher()
    stage = Stage(launcher, place.database, tmp_path)
    try:
        job = held.held_between_steps.using(queue="held").enqueue("trip")
        with place.looking(chromium, "dan") as page:
            page.goto(f"/jobs/{job.id}")
            page.evaluate("window.isTheSamePage = true")
            expect(page.locator("h1")).to_contain_text("Pending")
            first = stage.worker(queues={"held": 1})
            stage.until_started(job.id, 1)
            expect(page.locator("h1")).to_contain_text("Running")
            expect(page.locator("#job-tab")).to_contain_text("Step first")
            first.kill()
            stage.worker(queues={"held": 1})
            expect(page.locator("#job-tab")).to_contain_text("Attempt 2 started")
            expect(page.locator("#job-tab")).to_contain_text("WorkerDied: worker")
            picture(page, "story crash")
            stage.until_started(job.id, 2)
            stage.let_go("trip")
            expect(page.locator("h1")).to_contain_text("Completed")
            expect(page.locator("#job-tab")).to_contain_text("Step last")
            assert page.evaluate("window.isTheSamePage")
    finally:
        stage.close()
        launcher.close()
        held.app.close()

    done = [one["what"] for one in stage.ledger("effect", job.id)]
    assert done == ["first", "last"]  # the step that was done stayed done
