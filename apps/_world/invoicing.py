"""An invoicing service: clients, a register that is open or closed, documents with consecutive numbers, and their PDFs.

It issues what it is asked to issue, twice if asked twice: the reference is the caller's to look up before posting.
Kinds of trouble: `closed` (the register is), `forbidden` (403), `unavailable` (503), `silent` (no answer in time, nothing happens),
`lost` (a document is issued, but the answer never arrives), `held` (it is issued, and the answer held back until the caller is gone).
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.script import Script
from apps._world.serving import Unfinished, given_up, served

KEY = "invoicing-key"
YEAR = 2026
VAT = 23


class Invoicing:
    """One company's account."""

    def __init__(self, script: Script | None = None) -> None:
        self.url = ""
        self.at_register = script or Script()
        self.at_post = script or Script()
        self.clients: list[dict[str, Any]] = []
        self.documents: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)

    def with_reference(self, reference: str) -> list[dict[str, Any]]:
        """Give the documents that carry a reference: more than one is a fiscal mistake."""
        return [document for document in self.documents if document["reference"] == reference]

    async def _find_clients(self, request: Request) -> Response:
        wanted = dict(request.query_params)
        found = [one for one in self.clients if all(one.get(name) == value for name, value in wanted.items())]
        return JSONResponse(found)

    async def _create_client(self, request: Request) -> Response:
        client = {"id": len(self.clients) + 1, **await request.json()}
        self.clients.append(client)
        return JSONResponse(client, 201)

    async def _register(self, request: Request) -> Response:
        trouble = self.at_register.next()
        if trouble == "closed":
            return JSONResponse({"open": False})
        return await self._trouble(request, trouble) or JSONResponse({"open": True})

    async def _issue(self, request: Request) -> Response:
        body = await request.json()
        trouble = self.at_post.next()
        if refusal := await self._trouble(request, trouble):
            return refusal
        if body["type"] not in {"FR", "FT"} or any(line["vat"] != VAT for line in body["lines"]):
            return JSONResponse({"error": "type must be FR or FT, and VAT 23"}, 422)
        number = next(self._numbers)
        document = {"id": number, "number": f"{body['type']} {YEAR}/{number}", **body}
        document["pdf_url"] = f"{self.url}/documents/{number}/pdf"
        self.documents.append(document)
        if trouble == "held":
            await given_up(request)
        return Unfinished() if trouble == "lost" else JSONResponse(document, 201)

    async def _trouble(self, request: Request, kind: str | None) -> Response | None:
        match kind:
            case "forbidden":
                return JSONResponse({"error": "this key may not issue documents"}, 403)
            case "closed":
                return JSONResponse({"error": "the register is closed"}, 409)
            case "unavailable":
                return JSONResponse({"error": "try again later"}, 503)
            case "silent":
                await given_up(request)
                return Response(status_code=504)
            case _:
                return None

    async def _find_documents(self, request: Request) -> Response:
        return JSONResponse(self.with_reference(request.query_params["reference"]))

    async def _pdf(self, request: Request) -> Response:
        number = int(request.path_params["id"])
        if not any(document["id"] == number for document in self.documents):
            return JSONResponse({"error": "no such document"}, 404)
        return Response(b"%PDF-1.4\n% invoice " + str(number).encode(), media_type="application/pdf")

    def application(self) -> Any:
        """Make its API; whoever has no key is refused."""
        api = Starlette(
            routes=[
                Route("/clients", self._find_clients),
                Route("/clients", self._create_client, methods=["POST"]),
                Route("/register", self._register),
                Route("/documents", self._issue, methods=["POST"]),
                Route("/documents", self._find_documents),
                Route("/documents/{id}/pdf", self._pdf),
            ]
        )

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and dict(scope["headers"]).get(b"x-api-key") != KEY.encode():
                await JSONResponse({"error": "unknown key"}, 401)(scope, receive, send)
            else:
                await api(scope, receive, send)

        return guarded


@contextmanager
def simulated(script: Script | None = None) -> Iterator[Invoicing]:
    """Run the service for as long as the block lasts."""
    invoicing = Invoicing(script)
    with served(invoicing.application()) as invoicing.url:
        yield invoicing
