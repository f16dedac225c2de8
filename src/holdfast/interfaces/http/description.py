"""/openapi.json and /docs: the API's description for programs, and for people without a network."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.interfaces.http.html import headers, pages
from holdfast.interfaces.http.openapi import describe
from holdfast.interfaces.http.operation import Operation

_HEADERS = headers("style-src 'self'")


def written(operations: Sequence[Operation]) -> str:
    """Write the description, the same bytes for the same operations."""
    return json.dumps(describe(operations, version("holdfast")), indent=1, ensure_ascii=False) + "\n"


def description(operations: Sequence[Operation]) -> list[Route]:
    """Serve the description of these operations."""
    # When first asked for: half a second that most processes, and all tests, never need.
    text = cache(lambda: written(operations))
    style = cache(lambda: pages.get_template("docs.css").render())
    page = cache(
        lambda: pages.get_template("docs.html").render(api=describe(operations, version("holdfast")))
    )

    async def as_json(_request: Request) -> Response:
        return Response(text(), headers=_HEADERS, media_type="application/json")

    async def as_page(_request: Request) -> Response:
        return Response(page(), headers=_HEADERS, media_type="text/html")

    async def as_style(_request: Request) -> Response:
        return Response(style(), headers=_HEADERS, media_type="text/css")

    return [Route("/openapi.json", as_json), Route("/docs", as_page), Route("/docs.css", as_style)]
