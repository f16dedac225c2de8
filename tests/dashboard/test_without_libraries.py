"""Where the browser libraries were not fetched, pages say so and work."""

import pytest

from dashboard.conftest import Looking
from holdfast.interfaces.http.dashboard import statics

NOTICE = "Live updates and charts are missing"


@pytest.mark.parametrize("path", ["/", "/jobs", "/approvals", "/queues"])
async def test_a_page_without_libraries_names_none_and_says_what_is_missing(
    looking: Looking, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    own = {name: content for name, content in statics._all().items() if not name.startswith("vendor/")}
    monkeypatch.setattr(statics, "_all", lambda: own)

    async with looking() as browser:
        page = await browser.get(path)

    assert page.status_code == 200
    assert NOTICE in page.text
    assert "vendor/" not in page.text.replace("scripts/vendor", "")


@pytest.mark.skipif(
    bool(statics.missing()),
    reason="NOT RUN: the browser libraries were not fetched (scripts/vendor gets them)",
)
async def test_a_page_with_them_loads_what_is_served(looking: Looking) -> None:
    async with looking() as browser:
        page = await browser.get("/")
        for name in statics.VENDORED:
            address = f"/static/{statics.version()}/{name}"
            assert address in page.text
            assert (await browser.get(address)).status_code == 200
        hidden = await browser.get(f"/static/{statics.version()}/vendor/.made-from")

    assert NOTICE not in page.text
    assert hidden.status_code == 404
