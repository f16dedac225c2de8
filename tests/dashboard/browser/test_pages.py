"""Every page, wide and on a phone, light and dark: nothing complains, nothing is cut off, and everybody can use it."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from dashboard.browser.conftest import Shown
from dashboard.browser.scene import Place, open_place
from holdfast import Holdfast
from holdfast.interfaces.http.dashboard.navigation import ENTRIES
from holdfast.interfaces.http.dashboard.sections import SECTIONS
from holdfast.testing import TestServer
from world.browser import PHONE, WIDE, axe_faults, overflow, picture

# Parts of pages that have addresses of their own.
MORE = (
    *(f"/jobs/{{job_id}}?tab={tab}" for tab in ("steps", "attempts", "payload", "graph", "audit")),
    "/jobs?q=status:failed", "/jobs?q=task:nothing", "/jobs?q=status:",
    *(f"/activity?show={show}" for show in ("actions", "webhooks", "callbacks")),
    "/?window=7d",
)  # fmt: skip
# What a page shows nothing without.
QUERIES = {"/operations/new": "?action=retry&q=task:charge_card"}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_PART = re.compile(r"\{(\w+)(?::\w+)?\}")


def addresses() -> list[tuple[str, str]]:
    """List every page by its section and its path: a page that is added is looked at without being named here."""
    pages = [page for section in SECTIONS for page in section.pages]
    sections = {"activity": "activity", "": "overview"}
    more = [(sections.get(path[1:].partition("?")[0], "jobs"), path) for path in MORE]
    return [(page.section, page.path) for page in pages] + more


@pytest.mark.parametrize(("section", "path"), addresses(), ids=lambda each: each)
def test_a_page_is_fit_to_be_seen(chromium: Browser, shown: Shown, section: str, path: str) -> None:
    address = _PART.sub(lambda found: shown.parts[section][found[1]], path) + QUERIES.get(path, "")

    with shown.place.looking(chromium) as page:
        look(page, address, path)


@pytest.fixture(scope="module")
def empty(holdfast_server: TestServer) -> Iterator[Place]:
    """Give a place where nothing has happened yet."""
    with open_place(holdfast_server, lambda database: database.use(Holdfast())) as place:
        yield place


@pytest.mark.parametrize("path", [entry.path for entry in ENTRIES])
def test_a_page_without_anything_to_show_is_fit_to_be_seen(
    chromium: Browser, empty: Place, path: str
) -> None:
    with empty.looking(chromium) as page:
        look(page, path, f"empty {path}")


def look(page: Page, address: str, name: str) -> None:
    """Look at a page in every way in which people do."""
    for width, size in (("wide", WIDE), ("phone", PHONE)):
        page.set_viewport_size(size)
        page.goto(address, wait_until="load")
        page.locator("#live[data-state=live]").wait_for()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            picture(page, f"{name} {width} {scheme}")
            assert page.locator("p.failed").all_inner_texts() == []
            assert overflow(page) == 0, f"{width} {scheme}"
            # A theme is colours: nothing else of a page depends on it.
            assert axe_faults(page, only_colours=scheme == "dark") == [], f"{width} {scheme}"
