"""A real browser without a window, driven over ChromeDriver's HTTP protocol (W3C WebDriver)."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from guarantees.waiting import until

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server",
]  # fmt: skip
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # as the standard calls it
_GONE = {"stale element reference", "no such element"}
_NO_SCRIPT = {"profile.managed_default_content_settings.javascript": 2}


class PageGoneError(AssertionError):
    """What was looked at went with its page: another one is on its way."""


class Browser:
    """One window of it."""

    def __init__(self, client: httpx.Client, session: str) -> None:
        self._client = client
        self._session = session

    def _ask(self, method: str, command: str, **body: Any) -> Any:
        answer = self._client.request(
            method, f"/session/{self._session}/{command}", json=body if method == "POST" else None
        )
        told = answer.json()["value"]
        if answer.status_code != 200 and told.get("error") in _GONE:
            raise PageGoneError(told)
        assert answer.status_code == 200, told
        return told

    def visit(self, url: str) -> None:
        """Go to a page, and wait until it is loaded."""
        self._ask("POST", "url", url=url)

    @property
    def address(self) -> str:
        """What stands in the address bar."""
        return str(self._ask("GET", "url"))

    @property
    def text(self) -> str:
        """What the page shows."""
        return str(self._ask("GET", f"element/{self._find('body')}/text"))

    def _find(self, selector: str) -> str:
        found = self._ask("POST", "element", using="css selector", value=selector)
        return str(found[_ELEMENT])

    def type(self, selector: str, text: str) -> None:
        """Write into a field."""
        self._ask("POST", f"element/{self._find(selector)}/value", text=text)

    def click(self, selector: str) -> None:
        """Click, as a person does."""
        self._ask("POST", f"element/{self._find(selector)}/click")

    def inside(self, frame: int) -> None:
        """Look into a frame of the page."""
        self._ask("POST", "frame", id=frame)

    def until_text(self, wanted: str) -> None:
        """Wait until the page shows something."""
        until(f"the page shows {wanted!r}", lambda: self._shows(wanted))

    def _shows(self, wanted: str) -> bool:
        try:
            return wanted in self.text
        except PageGoneError:
            return False


@contextmanager
def browser(folder: Path, *, script: bool = True) -> Iterator[Browser]:
    """Start a browser that has never been anywhere."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("NOT RUN: chromium is not installed here (apt-get install chromium chromium-driver)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    options = {
        "binary": chromium,
        "args": [*FLAGS, f"--user-data-dir={folder}"],
        "prefs": {} if script else _NO_SCRIPT,
    }
    wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            until("the driver answers", lambda: _answers(client))
            begun = client.post("/session", json=wanted).json()["value"]
            assert "sessionId" in begun, begun
            try:
                yield Browser(client, begun["sessionId"])
            finally:
                client.delete(f"/session/{begun['sessionId']}")
    finally:
        process.terminate()
        process.wait(10)


def _answers(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/status").json()["value"]["ready"])
    except httpx.TransportError:
        return False
