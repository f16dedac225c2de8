"""A provider of virtual machines: creates, deletes and lists them, for whoever shows the account's token.

Kinds of trouble: `unavailable` (503, nothing happens), `lost` (done, but the answer never arrives).
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.script import Script
from apps._world.serving import Unfinished, served

TOKEN = "token of this account"  # noqa: S105 - it opens nothing but this simulator


class Machines:
    """The machines of one account; a machine is found again by the name that it was given."""

    def __init__(self, script: Script | None = None) -> None:
        self.url = ""
        self.script = script or Script()
        self.running: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []
        self._numbers = itertools.count(1)

    def of(self, name: str) -> list[dict[str, Any]]:
        """Give the machines with a name: more than one is money wasted."""
        return [machine for machine in self.running.values() if machine["name"] == name]

    async def _create(self, request: Request) -> Response:
        wanted = await request.json()
        return self._answer(request, lambda: self._add(wanted))

    async def _delete(self, request: Request) -> Response:
        return self._answer(request, lambda: self._remove(request.path_params["id"]))

    async def _list(self, request: Request) -> Response:
        name = request.query_params.get("name")
        found = list(self.running.values()) if name is None else self.of(name)
        return self._answer(request, lambda: JSONResponse(found))

    def _answer(self, request: Request, act: Callable[[], Response]) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": "who are you?"}, 401)
        trouble = self.script.next()
        if trouble == "unavailable":
            return JSONResponse({"error": "try again later"}, 503)
        answer = act()
        return Unfinished() if trouble == "lost" else answer

    def _add(self, wanted: dict[str, Any]) -> Response:
        machine = {"id": f"vm-{next(self._numbers)}", "name": wanted["name"], "region": wanted["region"]}
        self.running[machine["id"]] = machine
        return JSONResponse(machine, 201)

    def _remove(self, machine_id: str) -> Response:
        if self.running.pop(machine_id, None) is None:
            return JSONResponse({"error": "no such machine"}, 404)
        self.deleted.append(machine_id)
        return Response(status_code=204)

    def application(self) -> Starlette:
        """Make its API."""
        return Starlette(
            routes=[
                Route("/machines", self._create, methods=["POST"]),
                Route("/machines", self._list),
                Route("/machines/{id}", self._delete, methods=["DELETE"]),
            ]
        )


@contextmanager
def simulated(script: Script | None = None) -> Iterator[Machines]:
    """Run the provider for as long as the block lasts."""
    machines = Machines(script)
    with served(machines.application()) as machines.url:
        yield machines
