"""GitHub as its callers see it, on loopback: dispatches, lists and cancels that really run the workflow's shell steps."""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from world.serving import served
from world.workflow import Run

TOKEN = "github_pat_for_this_repository"
REPOSITORY = "/repos/acme/agents/actions"


class _Unfinished(Response):
    """Promises a body and hangs up: to the caller, an answer that was lost."""

    def __init__(self) -> None:
        super().__init__(b"", 200, {"content-length": "10"})


class GitHub:
    """One repository with one workflow. What the next dispatches answer is put into `answers`; else it runs."""

    def __init__(self, folder: Path, secret: str) -> None:
        self.url = ""
        self.answers: deque[Any] = deque()
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.runs: list[Run] = []
        self.cancelled: list[int] = []
        self.machine: str | None = None
        self.beat = 60.0
        self.names_runs = True
        self.knows_run_details = True
        self._folder = folder
        self._secret = secret

    def start_run(self, inputs: dict[str, Any]) -> Run:
        number = len(self.runs) + 1
        folder = self._folder / f"run-{number}"
        folder.mkdir()
        run = Run(1000 + number, inputs, self._secret, folder, self.machine, self.beat)
        self.runs.append(run)
        run.start()
        return run

    def dispatches(self) -> list[dict[str, Any]]:
        return [
            body
            for method, path, _, body in self.requests
            if method == "POST" and path.endswith("/dispatches")
        ]

    async def _dispatch(self, request: Request) -> Response:
        body = await self._noted(request)
        if "return_run_details" in body and not self.knows_run_details:
            return JSONResponse({"message": "Unexpected key: return_run_details"}, 422)
        answer = self.answers.popleft() if self.answers else "ran"
        if isinstance(answer, Response):
            return answer
        run = None if answer == "lost before" else self.start_run(body["inputs"])
        if run is None or answer == "lost":
            return _Unfinished()
        if answer == "500 after":
            return JSONResponse({"message": "Server Error"}, 500)
        named = {
            "workflow_run_id": run.id,
            "run_url": "https://api.example/run",
            "html_url": "https://github.example/run",
        }
        return (
            JSONResponse(named)
            if "return_run_details" in body and self.names_runs
            else Response(status_code=204)
        )

    async def _list(self, request: Request) -> Response:
        await self._noted(request)
        runs = [
            {
                "id": run.id,
                "display_title": run.name,
                "name": "provision-agent",
                "html_url": f"https://github.example/{run.id}",
            }
            for run in reversed(self.runs)
        ]
        return JSONResponse({"total_count": len(runs), "workflow_runs": runs})

    async def _cancel(self, request: Request) -> Response:
        await self._noted(request)
        number = int(request.path_params["run"])
        self.cancelled.append(number)
        (run,) = [run for run in self.runs if run.id == number]
        return JSONResponse({}, 202 if run.cancel() else 409)

    async def _noted(self, request: Request) -> Any:
        raw = await request.body()
        body = json.loads(raw) if raw else None
        self.requests.append((request.method, request.url.path, dict(request.headers), body))
        return body

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route(
                    f"{REPOSITORY}/workflows/provision-agent.yml/dispatches", self._dispatch, methods=["POST"]
                ),
                Route(f"{REPOSITORY}/workflows/provision-agent.yml/runs", self._list),
                Route(f"{REPOSITORY}/runs/{{run}}/cancel", self._cancel, methods=["POST"]),
            ]
        )


@contextmanager
def simulated(folder: Path, secret: str) -> Iterator[GitHub]:
    """Run the simulator; its runs end with it."""
    github = GitHub(folder, secret)
    with served(github.application()) as url:
        github.url = url
        try:
            yield github
        finally:
            for run in github.runs:
                run.vanish()
