"""Every page, wide and on a phone, light and dark: nothing complains, nothing is cut off, and everybody can use it."""

import re

import pytest
from playwright.sync_api import Browser

from dashboard.browser.conftest import Shown
from holdfast.interfaces.http.dashboard import page as declared
from holdfast.interfaces.http.dashboard.sections import SECTIONS
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
_PART = re.compile(r"\{(\w+)(?::\w+)?\}")


def addresses() -> list[tuple[str, str]]:
    """List every page by its section and its path: a page that is added is looked at without being named here."""
    pages: list[declared.Page] = [page for section in SECTIONS for page in section.pages]
    sections = {"activity": "activity", "": "overview"}
    more = [(sections.get(path[1:].partition("?")[0], "jobs"), path) for path in MORE]
    return [(page.section, page.path) for page in pages] + more


@pytest.mark.parametrize(("section", "path"), addresses(), ids=lambda each: each)
def test_a_page_is_fit_to_be_seen(chromium: Browser, shown: Shown, section: str, path: str) -> None:
    address = _PART.sub(lambda found: shown.parts[section][found[1]], path) + QUERIES.get(path, "")

    with shown.place.looking(chromium) as page:
        for width, size in (("wide", WIDE), ("phone", PHONE)):
            page.set_viewport_size(size)  # type: ignore[arg-type]  # Playwright's own class of dict
            page.goto(address, wait_until="load")
            page.locator("#live[data-state=live]").wait_for()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal of the two
                picture(page, f"{path} {width} {scheme}")
                assert page.locator("main .failed").all_inner_texts() == []
                assert overflow(page) == 0, f"{width} {scheme}"
                # A theme is colours: nothing else of a page depends on it.
                assert axe_faults(page, only_colours=scheme == "dark") == [], f"{width} {scheme}"
