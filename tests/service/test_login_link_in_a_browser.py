"""A login link in a real browser: it logs in by itself, and its secret stands in no address that anybody sees."""

from pathlib import Path

from apps._world.serving import served
from holdfast.interfaces.http.asgi import asgi
from holdfast.interfaces.http.login_links import LoginLinks
from service.house import MANY, House, settings
from service.watched import Watched
from world.browser import browser


def test_a_link_logs_in_by_itself_and_leaves_no_trace_of_its_secret(house: House, tmp_path: Path) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    watched = Watched(asgi(house.app, settings=settings(**MANY), links=links))
    with served(watched) as address, browser(tmp_path) as window:
        window.visit(address + link)
        window.until_text("Throughput and latency")
        inside = window.address
        window.visit("about:blank")
        window.visit(address + link)
        window.until_text("This link has been used")
        again = window.address

    assert inside == f"{address}/"
    assert again == f"{address}/enter"
    assert "hfl_" not in str(watched.requests)  # neither in an address nor as a referrer


def test_without_javascript_the_code_is_pasted(house: House, tmp_path: Path) -> None:
    links, name = LoginLinks(), house.person()
    link = links.make(name)
    application = asgi(house.app, settings=settings(**MANY), links=links)
    with served(application) as address, browser(tmp_path, script=False) as window:
        window.visit(address + link)
        window.until_text("Log in by link")
        window.type("#code", address + link)
        window.click("button.yes")
        window.until_text("Overview")

        assert window.address == f"{address}/"
