"""The approval page in a real browser: a visit decides nothing, a click does, and other sites get nowhere."""

import html
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from apps._world.serving import served
from guarantees.waiting import until
from holdfast.domain.approval import Invitation
from holdfast.interfaces.http.asgi import asgi
from service.test_approval_page import Office, office
from service.watched import Watched
from sql.asking import votes
from world.browser import Window, browser, refused_frame
from world.often import times

__all__ = ["office"]  # the fixture


class Site:
    """Where the page is served."""

    def __init__(self, office: Office, watched: Watched, address: str) -> None:
        self.office = office
        self.watched = watched
        self.address = address

    def page_of(self, invitation: Invitation) -> str:
        return f"{self.address}/a/{invitation.approval_id}"

    def link(self, invitation: Invitation) -> str:
        return f"{self.page_of(invitation)}#{invitation.token}"


@pytest.fixture(scope="module")
def site(office: Office) -> Iterator[Site]:
    watched = Watched(asgi(office.app, ["approvals"]))
    with served(watched) as address:
        yield Site(office, watched, address)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as launched:
        yield launched


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    window = Window(chromium)
    yield window.page
    window.close()


def test_a_visit_shows_the_question_and_decides_nothing(site: Site, page: Page) -> None:
    invitation = site.office.invite()

    for _ in range(times(2, 100)):
        page.goto(site.link(invitation))
        expect(page).to_have_url(site.page_of(invitation))  # the secret is out of sight
        expect(page.locator("body")).to_contain_text("Refund 900 €?")
    assert votes(site.office.machine, invitation.approval_id) == []
    assert site.office.decision(invitation) is None
    assert [sent for sent in site.watched.requests if invitation.token in str(sent)] == []


def test_a_click_decides(site: Site, page: Page) -> None:
    invitation = site.office.invite()
    page.goto(site.link(invitation))
    expect(page.locator("body")).to_contain_text("Refund 900 €?")

    page.click('button[value="deny"]')
    expect(page.locator("body")).to_contain_text("denying needs a reason")
    before = site.office.decision(invitation)
    page.fill("#reason", "sent twice")
    page.click('button[value="deny"]')
    expect(page.locator("body")).to_contain_text("You have denied this as ann")

    assert (before, site.office.decision(invitation)) == (None, "denied")
    posted = [sent for sent in site.watched.requests if sent[":"].startswith("POST")][-1]
    # What tells our own forms from others: with the referrer policy no-referrer the origin is always null.
    assert (posted["origin"], posted["sec-fetch-site"]) == ("null", "same-origin")
    assert "referer" not in posted


def test_without_javascript_the_code_is_pasted(site: Site, chromium: Browser) -> None:
    invitation = site.office.invite()
    window = Window(chromium, java_script_enabled=False)
    page = window.page
    page.goto(site.link(invitation))
    expect(page.locator("body")).to_contain_text("Show the question")
    page.fill("#code", invitation.token)
    page.click("button")
    expect(page.locator("body")).to_contain_text("Refund 900 €?")
    page.click('button[value="approve"]')
    expect(page.locator("body")).to_contain_text("You have approved this as ann")
    window.close()

    assert site.office.decision(invitation) == "approved"
    assert window.faults == []


# -- A5: another site ---------------------------------------------------------------------------------------------------

ATTACKS = {
    "form": '<form method="post" action="{page}">{fields}</form><script>document.forms[0].submit()</script>',
    "fetch": "<script>fetch({page!r}, {{method: 'POST', mode: 'no-cors', body: new URLSearchParams({fields_js})}})"
             ".finally(() => document.body.append('sent'))</script><body></body>",
    "frame": '<iframe src="{page}#{token}"></iframe>',
    "sandbox": '<iframe sandbox="allow-forms allow-scripts" srcdoc="{srcdoc}"></iframe>',
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_another_site_decides_nothing_even_with_the_secret(site: Site, page: Page, attack: str) -> None:
    invitation = site.office.invite()
    given = {"code": invitation.token, "decision": "approve", "version": invitation.bound_hash}
    fields = "".join(f'<input name="{name}" value="{text}">' for name, text in given.items())
    form = ATTACKS["form"].format(page=site.page_of(invitation), fields=fields)
    evil_page = ATTACKS[attack].format(
        page=site.page_of(invitation), fields=fields, fields_js=given, token=invitation.token,
        srcdoc=html.escape(form, quote=True),
    )  # fmt: skip
    asked = len(site.watched.requests)

    async def evil(_request: Request) -> Response:
        return HTMLResponse(evil_page)

    with served(Starlette(routes=[Route("/", evil)])) as address:
        page.goto(address.replace("127.0.0.1", "localhost"))
        until("the attack was made", lambda: len(site.watched.requests) > asked)
        until("it is over", lambda: _is_over(page, attack))

    assert site.office.decision(invitation) is None
    assert votes(site.office.machine, invitation.approval_id) == []


def _is_over(page: Page, attack: str) -> bool:
    match attack:
        case "form":
            return "This link cannot be used" in page.inner_text("body")
        case "fetch":
            return "sent" in page.inner_text("body")
        case "frame":
            return refused_frame(page)
        case _:
            return True
