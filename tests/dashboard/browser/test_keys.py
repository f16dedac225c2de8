"""The keyboard: every page by two letters, rows by one, nothing while somebody types, and nothing at all once it is off."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.browser.conftest import Shown
from holdfast.interfaces.http.dashboard.navigation import ENTRIES


@pytest.fixture
def page(chromium: Browser, shown: Shown) -> Iterator[Page]:
    with shown.place.looking(chromium, "ben") as page:
        page.goto("/jobs")
        page.locator("#live[data-state=live]").wait_for()
        yield page


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_g_and_a_letter_go_to_a_page(page: Page) -> None:
    for entry in ENTRIES:
        press(page, "g", entry.key)
        expect(page.locator("nav.sections a[aria-current=page]")).to_contain_text(entry.title)


def test_rows_are_walked_chosen_and_opened(page: Page) -> None:
    rows = page.locator("#job-list tbody tr")
    press(page, "j", "j", "j", "k", "x")
    expect(rows.nth(1).locator("input[name=pick]")).to_be_checked()
    expect(page.locator("input[name=pick]:checked")).to_have_count(1)
    press(page, "j", "j", "Shift+X")
    expect(page.locator("input[name=pick]:checked")).to_have_count(3)
    press(page, "Escape")
    expect(page.locator("input[name=pick]:checked")).to_have_count(0)
    wanted = rows.nth(3).locator("th a").get_attribute("href")
    press(page, "Enter")
    page.wait_for_url(f"**{wanted}")
    page.goto("/jobs")
    press(page, "j", "c")
    expect(page.locator("h1")).to_have_text("Stop jobs")
    expect(page.locator("#operation-preview")).to_contain_text("1 job")


def test_a_job_is_run_again_and_its_id_copied_by_keys(chromium: Browser, shown: Shown) -> None:
    (job,) = shown.there["/jobs/{job_id:uuid}"]
    with shown.place.looking(chromium, "ben", permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"/jobs/{job}")
        page.locator("#live[data-state=live]").wait_for()
        press(page, "y")
        expect(page.locator("#copy-id[data-copied]")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == job
        press(page, "r")
        expect(page.locator(".job-actions details[open] input[name=reason]")).to_be_focused()
        press(page, "t", "?", "g", "q")  # written, not obeyed
        expect(page.locator(".job-actions details[open] input[name=reason]")).to_have_value("t?gq")
        press(page, "Escape")
        expect(page.locator(".job-actions details[open]")).to_have_count(0)
        expect(page.locator(".job-actions summary", has_text="Run again")).to_be_focused()


def test_the_list_of_keys_the_search_the_theme_and_the_pause_have_keys(page: Page) -> None:
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    press(page, "Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    press(page, "t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    press(page, "p")
    expect(page.locator("#live")).to_have_attribute("data-state", "paused")
    press(page, "/")
    expect(page.locator("#search")).to_be_focused()


def test_a_key_opens_a_box_that_jumps_anywhere(page: Page) -> None:
    press(page, "Control+k")
    box = page.get_by_role("dialog", name="Go to, or do")
    expect(box).to_be_visible()
    box.get_by_label("A page, a job's id").fill("sched")
    press(page, "Enter")
    expect(page.locator("h1")).to_have_text("Schedules")


def test_keys_can_be_switched_off(page: Page) -> None:
    page.goto("/settings")
    page.get_by_label("Single keys do things").uncheck()
    page.goto("/jobs")
    page.locator("#live[data-state=live]").wait_for()

    press(page, "?", "p", "t", "g", "q", "j", "x")

    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.locator("h1")).to_have_text("Jobs")
    expect(page.locator("input[name=pick]:checked")).to_have_count(0)
