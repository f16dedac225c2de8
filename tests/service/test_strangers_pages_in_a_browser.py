"""The pages of people without a login, wide and on a phone, light and dark: nothing complains, and everybody can use them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from apps._world.serving import served
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.login_links import LoginLinks
from service.house import MANY, settings
from service.test_approval_page import Office, office
from world.browser import SIZES, Window, browser, look_in_both_colours

__all__ = ["office"]  # the fixture

each_size = pytest.mark.parametrize("size", SIZES)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def address(office: Office) -> Iterator[str]:
    with served(asgi(office.app, settings=settings(**MANY), links=LoginLinks())) as address:
        yield address


@pytest.fixture
def window(chromium: Browser, size: str) -> Iterator[Window]:
    window = Window(chromium, viewport=SIZES[size])
    yield window
    window.close()
    assert [fault for fault in window.faults if not fault.startswith("answer: 4")] == []  # refusals are shown


def see(page: Page, says: str, name: str) -> None:
    expect(page.locator("body")).to_contain_text(says)
    look_in_both_colours(page, name)


@each_size
def test_an_approver_can_read_the_question_and_what_came_of_it(
    office: Office, address: str, window: Window, size: str
) -> None:
    invitation = office.invite(facts={"order": "10-4711-" * 20, "amount": 900})
    page = window.page

    page.goto(f"{address}/a/{invitation.approval_id}#{invitation.token}")
    see(page, "Refund 900 €?", f"a question {size}")
    page.click('button[value="deny"]')
    see(page, "denying needs a reason", f"a refusal {size}")
    page.fill("#reason", "sent twice")
    page.click('button[value="deny"]')
    see(page, "You have denied this as ann", f"a decision {size}")


@each_size
def test_who_has_no_secret_or_a_wrong_one_can_read_what_to_do(
    office: Office, address: str, window: Window, size: str
) -> None:
    invitation, page = office.invite(), window.page

    page.goto(f"{address}/a/{invitation.approval_id}")
    see(page, "Show the question", f"a code is asked for {size}")
    page.fill("#code", "hfa_wrong")
    page.click("button")
    see(page, "This link cannot be used", f"a wrong code {size}")


@each_size
def test_who_logs_in_can_read_the_form_and_why_it_failed(address: str, window: Window, size: str) -> None:
    page = window.page

    page.goto(f"{address}/login")
    see(page, "Log in", f"login {size}")
    page.fill("[name=name]", "nobody")
    page.fill("[name=password]", "a wrong password")
    page.click("button")
    see(page, "wrong", f"login refused {size}")
    page.goto(f"{address}/enter")
    see(page, "Log in by link", f"login by link {size}")
