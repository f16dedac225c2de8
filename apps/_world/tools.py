"""The tools that agents use: a small library of documents behind HTTP, where a request is done once per `Idempotency-Key`.

Kinds of trouble: `limited` (429 with Retry-After), `unavailable` (503 without one), `silent` (no answer in time, nothing happens),
`lost` (done, but the connection breaks), `late` (done, but no answer in time), `unknown` (404, and will stay so), `huge` (an answer of more than a megabyte).
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.script import Script
from apps._world.serving import Unfinished, given_up, served

RETRY_AFTER = 42
HUGE = 1_200_000

Answer = dict[str, Any]

_REFUSALS: dict[Any, Callable[[], Response]] = {  # nothing is done
    "limited": lambda: JSONResponse({"error": "too many requests"}, 429, {"Retry-After": str(RETRY_AFTER)}),
    "unavailable": lambda: JSONResponse({"error": "try again later"}, 503),
    "unknown": lambda: JSONResponse({"error": "no such tool"}, 404),
    "huge": lambda: JSONResponse({"text": "x" * HUGE}),
}


class Tools:
    """The library, and what was done to it."""

    def __init__(self, script: Script | None = None) -> None:
        self.url = ""
        self.script = script or Script()
        self.takes = 0.0  # seconds
        self.documents = {"draft one": "apples are red", "draft two": "pears are green", "minutes": "we met"}
        self.asked: list[tuple[str, str]] = []  # tool and key of every request, repeats included
        self.done: list[tuple[str, str]] = []  # what took effect: each key once
        self.kept_waiting = threading.Event()  # somebody waits for an answer
        self.hung_up = threading.Event()  # and has given up
        self._answers: dict[str, Answer] = {}
        self._lock = threading.Lock()
        self._tools: dict[str, Callable[[Answer], Answer]] = {
            "search": self._search,
            "read": self._read,
            "write": self._write,
            "delete": self._delete,
        }

    def _search(self, wanted: Answer) -> Answer:
        return {"documents": sorted(name for name in self.documents if wanted["topic"] in name)}

    def _read(self, wanted: Answer) -> Answer:
        return {"text": self.documents[wanted["document"]]}

    def _write(self, wanted: Answer) -> Answer:
        self.documents[wanted["document"]] = wanted["text"]
        return {"document": wanted["document"]}

    def _delete(self, wanted: Answer) -> Answer:
        return {
            "deleted": [name for name in wanted["documents"] if self.documents.pop(name, None) is not None]
        }

    async def _use(self, request: Request) -> Response:
        tool, key = request.path_params["tool"], request.headers["idempotency-key"]
        wanted = await request.json()
        self.asked.append((tool, key))
        await asyncio.sleep(self.takes)
        trouble = self.script.next()
        if trouble in _REFUSALS:
            return _REFUSALS[trouble]()
        answer = None if trouble == "silent" else self._once(tool, key, wanted)
        if trouble in {"silent", "late"}:
            return await self._keep_waiting(request)
        return Unfinished() if trouble == "lost" else JSONResponse(answer)

    async def _keep_waiting(self, request: Request) -> Response:
        self.kept_waiting.set()
        await given_up(request)
        self.hung_up.set()
        return Response(status_code=504)

    def _once(self, tool: str, key: str, wanted: Answer) -> Answer:
        with self._lock:
            if key not in self._answers:
                self._answers[key] = self._tools[tool](wanted)
                self.done.append((tool, key))
            return self._answers[key]

    def application(self) -> Starlette:
        """Make its API."""
        return Starlette(routes=[Route("/tools/{tool}", self._use, methods=["POST"])])


@contextmanager
def simulated(script: Script | None = None) -> Iterator[Tools]:
    """Run the tools for as long as the block lasts."""
    tools = Tools(script)
    with served(tools.application()) as tools.url:
        yield tools
