"""Buttons of a server's own: where they stand, who may press them, and that there are none unless somebody brings them."""

import psycopg

from dashboard.looks import looking
from holdfast import Holdfast
from holdfast.server import Button, Pressed, Role
from service.house import OWN_PAGE

SAID = "The bell was rung."


class Bell:
    """Something to ring."""

    def __init__(self, to: str | None = None) -> None:
        self.rung = 0
        self._to = to

    async def ring(self) -> Pressed:
        self.rung += 1
        return Pressed(SAID, self._to)

    @property
    def button(self) -> Button:
        return Button("ring", "Ring <the> bell", "It is loud.", self.ring)


async def test_a_button_stands_on_every_page_and_leads_back_there(app: Holdfast) -> None:
    bell = Bell()
    async with looking(app, buttons=[bell.button]) as browser:
        pages = [(await browser.get(path)).text for path in ("/", "/jobs", "/queues")]
        pressed = await browser.post("/press-ring", data={"to": "/queues"})
        after = await browser.get(pressed.headers["location"])

    assert all("Ring &lt;the&gt; bell</button>" in page for page in pages)
    assert (pressed.status_code, pressed.headers["location"], bell.rung) == (303, "/queues", 1)
    assert SAID in after.text


async def test_a_button_may_lead_elsewhere_but_never_to_another_server(app: Holdfast) -> None:
    async with looking(app, buttons=[Bell(to="/approvals").button]) as browser:
        assert (await browser.post("/press-ring", data={"to": "/"})).headers["location"] == "/approvals"
    async with looking(app, buttons=[Bell().button], prefix="/ops") as browser:
        page = (await browser.get("/ops/jobs")).text
        assert 'action="/ops/press-ring"' in page
        assert 'name="to" value="/jobs"' in page
        for there in ("//evil.test/", "https://evil.test", "/\\evil.test"):
            answer = await browser.post("/ops/press-ring", data={"to": there})
            assert answer.headers["location"] == "/ops/"


async def test_who_may_not_press_it_neither_sees_nor_presses_it(app: Holdfast) -> None:
    bell = Bell()
    async with looking(app, buttons=[bell.button], role=Role.VIEWER) as browser:
        page = await browser.get("/")
        pressed = await browser.post("/press-ring", data={"to": "/"})
        told = await browser.get(pressed.headers["location"])

    assert "press-ring" not in page.text
    assert "this needs the scope operate" in told.text
    assert bell.rung == 0


async def test_another_site_cannot_press_it(app: Holdfast) -> None:
    bell = Bell()
    async with looking(app, buttons=[bell.button]) as browser:
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}
        answer = await browser.post("/press-ring", data={"to": "/"}, headers=foreign)

    assert (answer.status_code, bell.rung) == (403, 0)


async def test_a_form_that_does_not_say_where_it_comes_from_does_nothing(app: Holdfast) -> None:
    bell = Bell()
    async with looking(app, buttons=[bell.button]) as browser:
        for header in OWN_PAGE:
            del browser.headers[header]
        answer = await browser.post("/press-ring", data={"to": "/"})

    assert (answer.status_code, bell.rung) == (403, 0)


async def test_pressing_it_is_in_the_audit(app: Holdfast, owner: psycopg.Connection) -> None:
    async with looking(app, buttons=[Bell().button]) as browser:
        await browser.post("/press-ring", data={"to": "/"})

    told = owner.execute("select actor, action from holdfast.audit order by at desc limit 1").fetchone()
    assert told == ("the operator", "button.ring")


async def test_there_is_no_button_unless_somebody_brings_one(app: Holdfast) -> None:
    async with looking(app) as browser:
        assert "/press-" not in (await browser.get("/")).text
        assert (await browser.post("/press-ring", data={"to": "/"})).status_code == 404
        assert (await browser.post("/press-kill-worker", data={"to": "/"})).status_code == 404
