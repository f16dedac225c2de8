"""Opens a link in the browser of whoever sits at this machine, without a word of it in the list of processes."""

import atexit
import os
import sys
import tempfile
import threading
import webbrowser
from html import escape
from pathlib import Path

_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Holdfast</a>\n'
KEPT = 60.0  # seconds that the browser has to read it


def open_link(link: str) -> bool:
    """Open it where there is a screen and a browser; says whether there is."""
    if not has_screen():
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    # Everybody on a machine sees the arguments of its processes: the browser gets the name of a file that only we may read.
    descriptor, name = tempfile.mkstemp(prefix="holdfast-", suffix=".html")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(escape(link, quote=True)))
    atexit.register(Path(name).unlink, missing_ok=True)
    forgetting = threading.Timer(KEPT, Path(name).unlink, kwargs={"missing_ok": True})
    forgetting.daemon = True
    forgetting.start()
    return browser.open(Path(name).as_uri())


def has_screen() -> bool:
    """Whether somebody could see a window."""
    return sys.platform in {"darwin", "win32"} or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
