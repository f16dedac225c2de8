"""Builds the package as flit does, and refuses to build one whose pages lack what they load."""

from pathlib import Path
from typing import Any

from flit_core import buildapi
from flit_core.buildapi import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

VENDOR = Path("src/holdfast/interfaces/http/dashboard/static/vendor")
FETCHED = (
    "htmx.min.js",
    "hx-sse.min.js",
    "uPlot.iife.min.js",
    "uPlot.min.css",
    "htmx.LICENSE.txt",
    "uPlot.LICENSE.txt",
)


def build_wheel(directory: str, config: Any = None, metadata: str | None = None) -> str:
    """Build what is installed."""
    _require_fetched()
    return buildapi.build_wheel(directory, config, metadata)


def build_sdist(directory: str, config: Any = None) -> str:
    """Build what a wheel can be built from."""
    _require_fetched()
    return buildapi.build_sdist(directory, config)


def _require_fetched() -> None:
    missing = [name for name in FETCHED if not (VENDOR / name).is_file()]
    if missing:
        raise SystemExit(
            f"{VENDOR} lacks {', '.join(missing)}, which the dashboard's pages load:"
            " run scripts/vendor, then build again"
        )


__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
