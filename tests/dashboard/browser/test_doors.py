"""What other sites, other people and old cookies get from the dashboard in a real browser: nothing."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route

from apps._world.serving import served
from dashboard.browser.scene import COOKIE, Place, open_place, shop
from guarantees.waiting import until
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.dashboard.navigation import ENTRIES
from holdfast.testing import TestServer
from service.house import MANY, PASSWORD, settings
from world.browser import Window, axe_faults, overflow, picture, refused_frame


@pytest.fixture(scope="module")
def place(holdfast_server: TestServer) -> Iterator[Place]:
    with open_place(holdfast_server, shop) as place:
        place.machine.register("t")
        yield place


@pytest.fixture
def window(chromium: Browser, place: Place) -> Iterator[Window]:
    """Give the window of somebody whom the dashboard does not know."""
    window = Window(chromium, base_url=place.address)
    yield window
    window.close()


def log_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button").click()


# -- logging in and out ------------------------------------------------------------------------------------------------------


def test_a_login_leads_where_one_wanted_to_go_with_another_cookie_than_before(
    place: Place, window: Window
) -> None:
    planted = place.session("dan")  # somebody else's, left in this browser before
    window.context.add_cookies([{"name": COOKIE, "value": planted, "url": place.address}])
    page = window.page
    page.goto("/queues")
    page.locator("form.who button").click()
    expect(page).to_have_url(re.compile("/login"))
    page.goto("/jobs?q=status:failed")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    window.context.add_cookies([{"name": COOKIE, "value": planted, "url": place.address}])
    picture(page, "login", whole=False)
    assert (overflow(page), axe_faults(page)) == (0, [])

    log_in(page, "ben")

    expect(page).to_have_url(re.compile(r"/jobs\?q=status:failed"))
    (cookie,) = [each for each in window.context.cookies() if each["name"] == COOKIE]
    assert cookie["value"] != planted
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    place._sessions.pop("dan")


def test_after_a_logout_the_cookie_is_dead_and_going_back_shows_nothing(place: Place, window: Window) -> None:
    job = place.machine.enqueue("t", label="a private matter")
    page = window.page
    page.goto(f"/jobs/{job}")
    log_in(page, "ben")
    expect(page.locator("h1")).to_contain_text("a private matter")
    (cookie,) = [each for each in window.context.cookies() if each["name"] == COOKIE]

    page.locator("form.who button").click()
    expect(page).to_have_url(re.compile("/login"))
    page.go_back()

    expect(page).to_have_url(re.compile("/login"))
    assert "a private matter" not in page.content()
    window.context.add_cookies([{"name": COOKIE, "value": cookie.get("value", ""), "url": place.address}])
    page.goto(f"/jobs/{job}")
    expect(page).to_have_url(re.compile("/login"))


def test_who_is_logged_out_elsewhere_is_led_to_the_login_by_the_open_page(
    place: Place, window: Window
) -> None:
    job = place.machine.enqueue("t")
    page = window.page
    page.goto(f"/jobs/{job}")
    log_in(page, "ben")
    page.locator("#live[data-state=live]").wait_for()

    other = window.another_tab()
    other.goto("/queues")
    other.locator("form.who button").click()
    place.machine.move(job, Status.RUNNING)
    page.bring_to_front()

    expect(page).to_have_url(re.compile("/login"))


# -- other sites -------------------------------------------------------------------------------------------------------------

ATTACKS = {
    "form": '<form method="post" action="{there}"><input name="reason" value="evil"></form><script>document.forms[0].submit()</script>',
    "fetch": "<body></body><script>fetch('{there}', {{method: 'POST', mode: 'no-cors', credentials: 'include',"
             " body: new URLSearchParams({{reason: 'evil'}})}}).finally(() => document.body.append('sent'))</script>",
    "frame": '<iframe src="{page}"></iframe>',
}  # fmt: skip


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_another_site_can_neither_send_a_form_nor_show_a_page(
    chromium: Browser, place: Place, attack: str, host: str
) -> None:
    """From another site, and from another port of this very host, to which cookies are sent along."""
    job = place.machine.enqueue("t")
    page_of_job = f"/jobs/{job}"
    evil = ATTACKS[attack].format(
        there=f"{place.address}{page_of_job}/cancel", page=place.address + page_of_job
    )

    async def answer(_request: Request) -> Response:
        return HTMLResponse(evil)

    window = Window(chromium)
    window.context.add_cookies([{"name": COOKIE, "value": place.session("ben"), "url": place.address}])
    page = window.page
    with served(Starlette(routes=[Route("/", answer)])) as address:
        page.goto(address.replace("127.0.0.1", host))
        match attack:
            case "form":
                expect(page.locator("body")).to_contain_text(
                    re.compile("must come from a page|log in|Password", re.IGNORECASE)
                )
            case "fetch":
                expect(page.locator("body")).to_contain_text("sent")
            case _:
                until("the browser refuses", lambda: refused_frame(page))
    window.close()

    assert place.machine.status(job) is Status.PENDING


# -- without a script --------------------------------------------------------------------------------------------------------


def test_without_javascript_pages_are_read_jobs_run_again_and_approvals_decided(
    chromium: Browser, place: Place
) -> None:
    failed = place.app.tasks["charge_card"].using(label="order 8080").enqueue(8080, "ana@example.com")
    waiting = place.app.tasks["refund"].enqueue(8080, 700)
    place.drain()

    with place.looking(chromium, "ann", java_script_enabled=False) as page:
        for entry in ENTRIES:
            page.goto(entry.path)
            expect(page.locator("main")).not_to_be_empty()
            assert page.locator("#live").is_hidden()
        page.goto("/")
        page.get_by_label("Search jobs").fill("8080")
        page.get_by_label("Search jobs").press("Enter")
        page.get_by_role("link", name="charge_card").click()
        page.locator("summary", has_text="Run again").click()
        page.locator("details[open]").get_by_label("Reason").fill("the bank is back")
        page.locator("details[open]").get_by_role("button", name="Run again").click()
        expect(page.get_by_role("status").first).to_contain_text("runs again as this one")
        page.goto("/approvals")
        page.get_by_role("link", name="Refund 700 € of order 8080?").first.click()
        page.locator(".decide summary", has_text="Approve").click()
        page.locator(".decide details[open]").get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status").first).to_contain_text("Approved")
        page.goto("/jobs?q=8080")
        page.locator("input[name=pick]").first.check()
        page.get_by_role("button", name="Stop…").click()
        expect(page.locator("h1")).to_have_text("Stop jobs")

    assert (
        place.machine.value("select retry_of from holdfast.job where retry_of = %s", failed.id) == failed.id
    )
    assert (
        place.machine.value("select decision from holdfast.approval where job_id = %s", waiting.id)
        == "approved"
    )


# -- under a prefix ----------------------------------------------------------------------------------------------------------


def test_under_a_prefix_every_link_form_and_stream_stays_within_it(chromium: Browser, place: Place) -> None:
    inner = asgi(place.app, settings=settings(**MANY))
    outside: list[str] = []
    job = place.machine.enqueue("t")

    async def missed(request: Request) -> Response:
        outside.append(request.url.path)
        return Response(status_code=404)

    @asynccontextmanager
    async def closing(_host: Starlette) -> AsyncIterator[None]:
        yield
        await place.app.aclose()  # nobody runs the lifespan of what is mounted

    routes = [Mount("/ops/jobs", inner), Route("/{path:path}", missed, methods=["GET", "POST"])]
    with served(Starlette(routes=routes, lifespan=closing)) as address:
        window = Window(chromium, base_url=address)
        page = window.page
        page.goto(f"{address}/ops/jobs/")
        log_in(page, "ben")
        for entry in ENTRIES:
            page.locator(f"nav.sections a[data-key='{entry.key}']").click()
            expect(page).to_have_url(f"{address}/ops/jobs{entry.path}")
            page.locator("#live[data-state=live]").wait_for()
            links = page.locator("a[href], form[action], [hx-get]").evaluate_all(
                "all => all.map(each => each.getAttribute('href') ?? each.getAttribute('action') ?? each.getAttribute('hx-get'))"
            )
            assert [
                link for link in links if link.startswith("/") and not link.startswith("/ops/jobs/")
            ] == []
        page.goto(f"{address}/ops/jobs/jobs/{job}")
        page.locator("#live[data-state=live]").wait_for()
        page.locator("summary", has_text="Stop").click()
        page.locator("details[open]").get_by_label("Reason").fill("not needed")
        page.locator("details[open]").get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status").first).to_have_text("The job is stopped.")
        page.keyboard.press("g")
        page.keyboard.press("q")
        expect(page).to_have_url(f"{address}/ops/jobs/queues")
        page.locator("#live[data-state=live]").wait_for()
        # A panel that is being read while one logs out is refused, as it should be.
        faults = window.take_faults()
        page.locator("form.who button").click()
        expect(page).to_have_url(re.compile(r"/ops/jobs/login"))
        window.close()

    assert [path for path in outside if path != "/favicon.ico"] == []
    assert [fault for fault in faults if "favicon" not in fault] == []
