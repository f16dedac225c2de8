"""A real browser without a window: Debian's Chromium, driven by Playwright, and what it complains about.

Its headless shell is the same engine without everything around it that makes a browser for a desk, and starts sooner.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    Route,
    ViewportSize,
    expect,
    sync_playwright,
)

from guarantees.waiting import until

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server",
]  # fmt: skip
# Long enough for a busy machine; what promises to be quick is measured by its own test.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)
WIDE: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
SIZES = {"wide": WIDE, "phone": PHONE}
Scheme: TypeAlias = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_AXE = Path(__file__).parent / "vendor/axe.min.js"
_STANDARD = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
_CONTRAST = {"type": "rule", "values": ["color-contrast"]}
_CHECK = """async (only) => (await axe.run(document, {runOnly: only, resultTypes: ["violations"], preload: false})).violations.map(
    (each) => `${each.id}: ${each.help}: ` + each.nodes.slice(0, 5).map((node) => node.target.join(" ")
        + " (" + node.any.concat(node.all, node.none).map((why) => why.message).join("; ") + ")").join(" | "))"""
# A page may not keep its own violations to itself.
_TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample} ${event.sourceFile}:${event.lineNumber}`))"""


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser. Nothing else may run an event loop in this thread until it is gone."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("NOT RUN: chromium is not installed here (apt-get install chromium-headless-shell)")
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            yield launched
        finally:
            launched.close()


class Window:
    """A window of somebody who has never been anywhere, and everything in it that a person would call a fault."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
        context.set_default_timeout(PATIENCE)
        self.context = context
        self.faults: list[str] = []
        self.page = self.another_tab()

    def another_tab(self) -> Page:
        """Open a tab; it is watched like the first."""
        page = self.context.new_page()
        page.add_init_script(_TELL_VIOLATIONS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("dialog", self._asked)
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)
        return page

    def _said(self, message: ConsoleMessage) -> None:
        # What was not answered well is told by the answer itself.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.faults.append(f"console: {message.text}")

    def _asked(self, dialog: Dialog) -> None:
        if dialog.type != "beforeunload":
            self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _failed(self, request: Request) -> None:
        # Whoever leaves a page ends what it was still loading.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"request: {request.method} {request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"answer: {response.status} {response.request.method} {response.url}")

    def take_faults(self) -> list[str]:
        """Tell what was a fault since the last time this was asked."""
        told, self.faults = self.faults, []
        return told

    def close(self) -> None:
        self.context.close()


def axe_faults(page: Page, *, only_colours: bool = False) -> list[str]:
    """Name what keeps people from using a page, by the rules of WCAG 2.2 AA; or by those of them about colours."""
    if not _AXE.exists():
        pytest.skip("NOT RUN: axe-core was not fetched (scripts/vendor)")
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text("utf-8"))  # not as an element of the page, whose policy would refuse it
    found: list[str] = page.evaluate(_CHECK, _CONTRAST if only_colours else _STANDARD)
    return found


def overflow(page: Page) -> int:
    """Say how many pixels the document is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def refused_frame(page: Page) -> bool:
    """Whether the browser shows a page of its own in the newest frame, where nobody can look into ours."""
    page.evaluate("0")  # what happened in the browser is heard only while something is asked of it
    return page.frames[-1].url.startswith("chrome-error:")


def look_in_both_colours(page: Page, name: str) -> None:
    """See that a page, as it is now, is whole and can be used by everybody, light and dark; leaves its pictures."""
    for scheme in SCHEMES:
        # A theme is colours: nothing else of a page depends on it.
        look_in(scheme, page, name, only_colours=scheme == "dark")


def look_in(scheme: Scheme, page: Page, name: str, *, only_colours: bool = False) -> None:
    """See that a page, as it is now, is whole and can be used by everybody who likes these colours."""
    page.emulate_media(color_scheme=scheme)
    picture(page, f"{name} {scheme}")
    assert overflow(page) == 0, f"{name} {scheme}"
    assert axe_faults(page, only_colours=only_colours) == [], f"{name} {scheme}"


def picture(page: Page, name: str, *, whole: bool = True) -> None:
    """Leave a picture in the folder that HOLDFAST_TEST_PICTURES names, if it names one."""
    if folder := os.environ.get("HOLDFAST_TEST_PICTURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
        page.screenshot(path=Path(folder) / f"{file}.png", full_page=whole)


def keeping(held: list[Route]) -> Callable[[Route], None]:
    """Let what a page asks for wait until somebody lets it go on."""

    def keep(route: Route) -> None:
        held.append(route)

    return keep


def until_held(page: Page, held: list[Route]) -> None:
    """Wait until a page has asked for what is kept from it."""
    until("it is asked for", lambda: held or page.evaluate("0"))  # routes are heard while something is asked
