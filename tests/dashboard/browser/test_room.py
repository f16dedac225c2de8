"""Room: what people need is neither cut off nor pushed away, on a desk and on the smallest phones."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, ViewportSize

from dashboard.browser.scene import Place, open_place, shop
from holdfast.testing import TestServer
from world.browser import WIDE

SMALL: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def place(holdfast_server: TestServer) -> Iterator[Place]:
    with open_place(holdfast_server, shop) as place:
        yield place


def cut_off(locator: Locator) -> int:
    """Say how many pixels of something can only be seen by scrolling to the side."""
    return int(locator.evaluate("each => each.scrollWidth - each.clientWidth"))


def tops(locator: Locator) -> set[int]:
    """Say in how many rows these stand, by where each begins."""
    return {round(box["y"]) for each in locator.all() if (box := each.bounding_box()) is not None}


def test_what_teaches_to_ask_has_the_whole_place_while_nothing_was_asked(
    chromium: Browser, place: Place
) -> None:
    for size in (WIDE, SMALL):
        with place.looking(chromium, viewport=size) as page:
            page.goto("/approvals")

            assert cut_off(page.locator("#approval-list pre")) == 0
            assert page.locator("#first-card").is_hidden()


def test_the_usual_columns_of_jobs_fit_a_desk(chromium: Browser, place: Place) -> None:
    place.machine.register("send_customer_confirmation", queue="bookings")
    place.machine.enqueue("send_customer_confirmation", tenant="initech", label="researcher: the harvest")
    place.app.tasks["charge_card"].enqueue(5000, "customer@example.com")
    place.drain()

    with place.looking(chromium, viewport=WIDE) as page:
        page.goto("/jobs")

        assert cut_off(page.locator("#job-list .wide")) == 0


def test_on_a_small_phone_the_top_bar_stays_as_high_whatever_the_connection_does(
    chromium: Browser, place: Place
) -> None:
    with place.looking(chromium, viewport=SMALL) as page:
        page.goto("/")
        page.locator("#live[data-state=live]").wait_for()
        live = page.locator(".top").bounding_box()
        page.locator(".live-word").evaluate("each => { each.textContent = 'reconnecting'; }")
        away = page.locator(".top").bounding_box()

    assert live == away


def test_on_a_small_phone_all_other_sections_come_up_in_one_row(chromium: Browser, place: Place) -> None:
    with place.looking(chromium, viewport=SMALL) as page:
        page.goto("/")
        page.locator(".others summary").click()

        assert len(tops(page.locator(".sections a.other"))) == 1
        assert len(tops(page.locator(".sections > :not(.other)"))) == 1
        assert [cut_off(each) for each in page.locator(".sections a.other").all()] == [0] * 5


def test_on_a_small_phone_every_stretch_of_time_can_be_chosen_without_scrolling(
    chromium: Browser, place: Place
) -> None:
    with place.looking(chromium, viewport=SMALL) as page:
        page.goto("/jobs")

        assert cut_off(page.locator(".ranges")) == 0
