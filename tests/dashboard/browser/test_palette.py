"""The palette: pages, names and what can be done here, found by the keyboard and fit to be seen."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from dashboard.browser.conftest import Shown
from guarantees.waiting import until
from world.browser import SIZES, keeping, look_in_both_colours, until_held


@pytest.fixture
def page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    with shown.place.looking(chromium, "ann") as page:
        yield page


def opened(page: Page, at: str, text: str = "") -> Locator:
    """Open the palette on a page, with its names, and write something."""
    page.goto(at)
    page.locator("#live[data-state=live]").wait_for()
    with page.expect_response(lambda answer: "panel=search_words" in answer.url):
        page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="A page, a job's id")
    expect(box).to_be_focused()
    until("the names are read", lambda: page.evaluate("named !== null"))
    box.press_sequentially(text)
    return page.get_by_role("listbox", name="Places and actions").get_by_role("option")


@pytest.mark.parametrize(
    ("text", "found", "there"),
    [
        ("bill", "queuebilling", "/queues/billing"),
        ("queue mai", "queuemail", "/queues/mail"),
        ("charge", "taskcharge_card", "/jobs?q=task%3Acharge_card"),
        ("acm", "tenantacme", "/usage/acme"),
        ("nightly", "schedulenightly report", "/schedules/nightly%20report"),
        ("sched", "pageSchedules", "/schedules"),
    ],
)
def test_what_has_a_name_is_found_by_it(page: Page, shown: Shown, text: str, found: str, there: str) -> None:
    options = opened(page, "/usage", text)
    expect(options.first).to_have_text(found)
    expect(options.first).to_have_attribute("aria-selected", "true")

    page.keyboard.press("Enter")

    page.wait_for_url(shown.place.address + there)


def test_what_can_be_done_here_is_done_by_its_form(page: Page) -> None:
    options = opened(page, "/queues/billing", "pause")
    expect(options.first).to_have_text("actionPause billing")

    page.keyboard.press("Enter")

    expect(page.locator("details.asking[open] h2")).to_have_text("Pause billing?")
    expect(page.locator("details.asking[open] input[name=reason]")).to_be_focused()


def test_a_job_is_run_again_from_its_page(page: Page, shown: Shown) -> None:
    (job,) = shown.there["/jobs/{job_id:uuid}"]
    options = opened(page, f"/jobs/{job}", "run again")
    expect(options.first).to_have_text("actionRun this job again")

    page.keyboard.press("Enter")

    expect(page.locator(".job-actions details[open] h2")).to_have_text("Run this job again?")


def test_arrows_walk_the_list_and_an_id_or_any_words_lead_to_jobs(page: Page, shown: Shown) -> None:
    (job,) = shown.there["/jobs/{job_id:uuid}"]
    options = opened(page, "/", "s")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#jump-text")).to_have_attribute("aria-activedescendant", "jump-1")
    page.locator("#jump-text").fill(job)
    expect(options.first).to_have_text(f"job{job}")
    page.locator("#jump-text").fill("ana@example.com")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?q=ana%40example.com")


def test_names_that_come_later_leave_who_walks_the_list_where_he_is(page: Page) -> None:
    page.goto("/")
    page.locator("#live[data-state=live]").wait_for()
    held: list[Route] = []
    page.route("**/*panel=search_words*", keeping(held))
    page.keyboard.press("Control+k")
    page.locator("#jump-text").press_sequentially("s")
    until_held(page, held)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    pointed = page.get_by_role("option", selected=True)
    there = pointed.text_content()

    held.pop().continue_()
    until("the names are read", lambda: page.evaluate("named !== null"))

    expect(page.get_by_role("option").filter(has_text="queue").first).to_be_visible()
    expect(pointed).to_have_text(str(there))


def test_the_palette_is_fit_to_be_seen(page: Page) -> None:
    for width, size in SIZES.items():
        page.set_viewport_size(size)
        opened(page, "/queues/billing", "b")
        look_in_both_colours(page, f"palette {width}")
