"""Stories of changes: approvals given together, jobs moved to another queue, a job deleted for ever."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.browser.scene import Place, open_place, shop
from holdfast.domain.states import Status
from holdfast.testing import TestServer
from sql.test_project import project_all
from world.browser import PHONE, SIZES, look_in_both_colours, picture


@pytest.fixture
def place(holdfast_server: TestServer) -> Iterator[Place]:
    with open_place(holdfast_server, shop) as place:
        yield place


def live(page: Page, at: str) -> None:
    page.goto(at)
    page.locator("#live[data-state=live]").wait_for()


def test_several_are_approved_together_and_who_loses_one_is_told_on_its_card(
    chromium: Browser, place: Place
) -> None:
    for order in (41, 42, 43):
        place.app.tasks["refund"].enqueue(order, 20)
    place.app.tasks["change_plan"].enqueue("acme")
    place.drain()
    with place.looking(chromium, "cleo", viewport=PHONE) as page:
        live(page, "/approvals")
        ticks = page.locator(".tickable input")
        expect(ticks).to_have_count(3)  # the plan's gate does not say so
        expect(page.get_by_role("button", name="Approve together…")).to_be_disabled()
        for number in range(3):
            ticks.nth(number).check()
        page.get_by_role("button", name="Approve together…").click()
        dialog = page.get_by_role("dialog", name="Approve these 3?")
        expect(dialog.locator("li strong")).to_have_count(3)
        named = dialog.locator("li strong").all_inner_texts()
        assert sorted(named) == [f"Refund 20 € of order {n}?" for n in (41, 42, 43)]
        for width, size in SIZES.items():
            page.set_viewport_size(size)
            look_in_both_colours(page, f"approve together {width}")
        place.machine.run(
            "select holdfast.decide(a.id, 'ann', 'deny', 'seen twice', null, null) from holdfast.approval a"
            " where a.question like '%% 42?'"
        )
        dialog.get_by_role("button", name="Approve 3").click()
        expect(page.get_by_role("heading", name="2 approved, 1 not")).to_be_visible()
        expect(page.locator("li", has_text="order 42")).to_contain_text("Already denied by ann")
        for width, size in SIZES.items():
            page.set_viewport_size(size)
            look_in_both_colours(page, f"approved together {width}")

    decided = place.machine.rows("select decision from holdfast.approval where bulk order by question")
    assert [row["decision"] for row in decided] == ["approved", "denied", "approved"]


def test_chosen_jobs_are_moved_to_another_queue(chromium: Browser, place: Place) -> None:
    place.machine.register("t", queue="reports")
    jobs = [place.machine.enqueue("t") for _ in range(2)]
    place.app.tasks["send_mail"].enqueue("a@example.com")
    with place.looking(chromium, "ben", viewport=PHONE) as page:
        live(page, "/jobs?q=task:t")
        for number in range(2):
            page.locator("input[name=pick]").nth(number).check()
        look_in_both_colours(page, "chosen jobs phone")
        page.get_by_role("button", name="Move…").click()
        page.locator("select[name=queue]").select_option("mail")
        page.get_by_label("Reason").fill("make room")
        page.get_by_role("button", name="Move to another queue: 2 jobs").click()
        expect(page.get_by_role("status").first).to_have_text("Begun: 2 jobs are moved to mail.")
        place.drain()
        expect(page.locator("#operation-progress")).to_contain_text("2 of 2 moved to mail")

    assert [place.machine.job(job)["queue"] for job in jobs] == ["mail", "mail"]


def test_a_job_is_deleted_for_ever_by_typing_so(chromium: Browser, place: Place) -> None:
    place.machine.register("t")
    job = place.machine.job_in(Status.CANCELLED)
    project_all(place.machine)
    with place.looking(chromium, "ann") as page:
        live(page, f"/jobs/{job}")
        page.locator(".job-actions summary", has_text="Delete").click()
        picture(page, "delete a job")
        page.get_by_label("Reason").fill("asked to be forgotten")
        page.get_by_label("Type delete to confirm").fill("delete")
        page.locator(".job-actions details[open] button[type=submit]").click()
        expect(page.get_by_role("status").first).to_contain_text("is deleted; the audit has your reason")

    assert place.machine.count() == 0
