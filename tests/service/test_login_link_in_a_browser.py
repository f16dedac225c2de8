"""A login link in a real browser: it logs in by itself, and its secret stands in no address that anybody sees."""

from playwright.sync_api import expect

from apps._world.serving import served
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.login_links import LoginLinks
from service.house import MANY, House, settings
from service.watched import Watched
from world.browser import Window, browser


def test_a_link_logs_in_by_itself_and_leaves_no_trace_of_its_secret(house: House) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    watched = Watched(asgi(house.app, settings=settings(**MANY), links=links))
    with served(watched) as address, browser() as started:
        page = Window(started).page
        page.goto(address + link)
        expect(page.locator("body")).to_contain_text("Throughput and latency")
        inside = page.url
        page.goto("about:blank")
        page.goto(address + link)
        expect(page.locator("body")).to_contain_text("This link has been used")
        again = page.url

    assert inside == f"{address}/"
    assert again == f"{address}/enter"
    assert "hfl_" not in str(watched.requests)  # neither in an address nor as a referrer


def test_without_javascript_the_code_is_pasted(house: House) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    application = asgi(house.app, settings=settings(**MANY), links=links)
    with served(application) as address, browser() as started:
        page = Window(started, java_script_enabled=False).page
        page.goto(address + link)
        expect(page.locator("body")).to_contain_text("Log in by link")
        page.fill("#code", address + link)
        page.click("button.yes")
        expect(page.locator("body")).to_contain_text("Overview")

        assert page.url == f"{address}/"
