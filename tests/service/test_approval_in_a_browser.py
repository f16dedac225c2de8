"""The approval page in a real browser: a visit decides nothing, a click does, and other sites get nowhere."""

import html
from collections.abc import Iterator

import pytest
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
from world.browser import Browser, browser
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
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


def test_a_visit_shows_the_question_and_decides_nothing(site: Site, window: Browser) -> None:
    invitation = site.office.invite()

    for _ in range(times(2, 100)):
        window.visit(site.link(invitation))
        until("the secret is out of sight", lambda: window.address == site.page_of(invitation))
        window.until_text("Refund 900 €?")
    assert votes(site.office.machine, invitation.approval_id) == []
    assert site.office.decision(invitation) is None
    assert [sent for sent in site.watched.requests if invitation.token in str(sent)] == []


def test_a_click_decides(site: Site, window: Browser) -> None:
    invitation = site.office.invite()
    window.visit(site.link(invitation))
    window.until_text("Refund 900 €?")

    window.click('button[value="deny"]')
    window.until_text("denying needs a reason")
    before = site.office.decision(invitation)
    window.type("#reason", "sent twice")
    window.click('button[value="deny"]')
    window.until_text("You have denied this as ann")

    assert (before, site.office.decision(invitation)) == (None, "denied")
    posted = [sent for sent in site.watched.requests if sent[":"].startswith("POST")][-1]
    # What tells our own forms from others: with the referrer policy no-referrer the origin is always null.
    assert (posted["origin"], posted["sec-fetch-site"]) == ("null", "same-origin")
    assert "referer" not in posted


def test_without_javascript_the_code_is_pasted(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    invitation = site.office.invite()
    with browser(tmp_path_factory.mktemp("browser"), script=False) as window:
        window.visit(site.link(invitation))
        window.until_text("Show the question")
        window.type("#code", invitation.token)
        window.click("button")
        window.until_text("Refund 900 €?")
        window.click('button[value="approve"]')
        window.until_text("You have approved this as ann")

    assert site.office.decision(invitation) == "approved"


# -- A5: another site ---------------------------------------------------------------------------------------------------

ATTACKS = {
    "form": '<form method="post" action="{page}">{fields}</form><script>document.forms[0].submit()</script>',
    "fetch": "<script>fetch({page!r}, {{method: 'POST', mode: 'no-cors', body: new URLSearchParams({fields_js})}})"
             ".finally(() => document.body.append('sent'))</script><body></body>",
    "frame": '<iframe src="{page}#{token}"></iframe>',
    "sandbox": '<iframe sandbox="allow-forms allow-scripts" srcdoc="{srcdoc}"></iframe>',
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_another_site_decides_nothing_even_with_the_secret(site: Site, window: Browser, attack: str) -> None:
    invitation = site.office.invite()
    given = {"code": invitation.token, "decision": "approve", "version": invitation.bound_hash}
    fields = "".join(f'<input name="{name}" value="{text}">' for name, text in given.items())
    form = ATTACKS["form"].format(page=site.page_of(invitation), fields=fields)
    page = ATTACKS[attack].format(
        page=site.page_of(invitation), fields=fields, fields_js=given, token=invitation.token,
        srcdoc=html.escape(form, quote=True),
    )  # fmt: skip
    asked = len(site.watched.requests)

    async def evil(_request: Request) -> Response:
        return HTMLResponse(page)

    with served(Starlette(routes=[Route("/", evil)])) as address:
        window.visit(address.replace("127.0.0.1", "localhost"))
        until("the attack was made", lambda: len(site.watched.requests) > asked)
        until("it is over", lambda: _is_over(window, attack))

    assert site.office.decision(invitation) is None
    assert votes(site.office.machine, invitation.approval_id) == []


def _is_over(window: Browser, attack: str) -> bool:
    match attack:
        case "form":
            return "This link cannot be used" in window.text
        case "fetch":
            return "sent" in window.text
        case "frame":
            window.inside(0)  # the browser shows its own page instead of ours
            return "Refund" not in window.text and "decision" not in window.text
        case _:
            return True
