"""Scripts, styles and icons: read once, named by what is in them, and kept by browsers for ever."""

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOR_EVER = "public, max-age=31536000, immutable"
# What other people wrote is fetched by scripts/vendor before the package is built, and is not part of the repository.
VENDORED = ("vendor/htmx.min.js", "vendor/hx-sse.min.js", "vendor/uPlot.iife.min.js", "vendor/uPlot.min.css")


@cache
def _all() -> MappingProxyType[str, bytes]:
    return MappingProxyType(dict(_read(files("holdfast.interfaces.http.dashboard").joinpath("static"), "")))


def _read(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name.startswith("."):
            continue  # what scripts/vendor made it from
        if entry.is_dir():
            found += _read(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


@cache
def version() -> str:
    """Name this set of files by its content."""
    digest = hashlib.sha256()
    for name, content in _all().items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:8]


def missing() -> list[str]:
    """Name the files of other people that were not fetched."""
    return [name for name in VENDORED if name not in _all()]


async def _serve(request: Request) -> Response:
    content = _all().get(request.path_params["name"])
    if content is None or request.path_params["version"] != version():
        return Response(status_code=404)
    kind = mimetypes.guess_type(request.path_params["name"])[0] or "application/octet-stream"
    return Response(content, media_type=kind, headers={"Cache-Control": _FOR_EVER})


route = Route("/static/{version}/{name:path}", _serve)
