"""GitHub as its callers see it, on loopback: dispatches, lists and cancels that really run the workflow's shell steps.

Kinds of trouble with a dispatch: `unavailable` (503, nothing starts), `limited` (403 with retry-after), `lost before` (no answer,
nothing starts), `lost` (no answer, and it runs), `500 after` (it runs all the same).
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps._world.script import Script
from apps._world.serving import Unfinished, served
from apps._world.workflow import WORKFLOW, Run, read_workflow

TOKEN = "github_pat_for_this_repository"  # noqa: S105 - it opens nothing but this simulator
CALLBACK_SECRET = "secrets.HOLDFAST_CALLBACK_SECRET"  # noqa: S105 - what a workflow calls it
REPOSITORY = "/repos/acme/agents/actions"

_REFUSALS: dict[Any, Callable[[], Response]] = {  # nothing runs
    "unavailable": lambda: JSONResponse({"message": "Service Unavailable"}, 503),
    "limited": lambda: JSONResponse({"message": "API rate limit exceeded"}, 403, {"retry-after": "1"}),
    "lost before": Unfinished,
}
_LOST: dict[Any, Callable[[], Response]] = {  # it runs, and the caller cannot know
    "lost": Unfinished,
    "500 after": lambda: JSONResponse({"message": "Server Error"}, 500),
}


class GitHub:
    """One repository, acme/agents, with one workflow. `answers` are for the next dispatches; then its script decides.

    `known` are the repository's secrets and variables, as a workflow names them.
    """

    def __init__(
        self,
        folder: Path,
        secret: str = "",
        *,
        workflow: Path = WORKFLOW,
        script: Script | None = None,
    ) -> None:
        self.url = ""
        self.answers: deque[Any] = deque()
        self.script = script or Script()
        self.known = {CALLBACK_SECRET: secret}
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.runs: list[Run] = []
        self.cancelled: list[int] = []
        self.machine: str | None = None
        self.beat = 60.0
        self.names_runs = True
        self.knows_run_details = True
        self._folder = folder
        self._workflow = workflow

    def start_run(self, inputs: dict[str, Any]) -> Run:
        """Start a run, as a dispatch does."""
        number = len(self.runs) + 1
        folder = self._folder / f"run-{number}"
        folder.mkdir()
        run = Run(
            1000 + number,
            inputs,
            folder,
            path=self._workflow,
            known=self.known,
            machine=self.machine,
            beat=self.beat,
        )
        self.runs.append(run)
        run.start()
        return run

    def dispatches(self) -> list[dict[str, Any]]:
        """Give the bodies of the dispatches that came, also of those that were refused."""
        return [
            body
            for method, path, _, body in self.requests
            if method == "POST" and path.endswith("/dispatches")
        ]

    async def _dispatch(self, request: Request) -> Response:
        body = await self._noted(request)
        if "return_run_details" in body and not self.knows_run_details:
            return JSONResponse({"message": "Unexpected key: return_run_details"}, 422)
        if unexpected := sorted(set(body["inputs"]) ^ set(read_workflow(self._workflow).inputs)):
            return JSONResponse({"message": f"Unexpected or missing inputs: {unexpected}"}, 422)
        answer = self.answers.popleft() if self.answers else self.script.next()
        if isinstance(answer, Response):
            return answer
        if answer in _REFUSALS:
            return _REFUSALS[answer]()
        run = self.start_run(body["inputs"])
        if answer in _LOST:
            return _LOST[answer]()
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
        found = [run for run in self.runs if run.id == number]
        if not found:
            return JSONResponse({"message": "Not Found"}, 404)
        return JSONResponse({}, 202 if found[0].cancel() else 409)

    async def _noted(self, request: Request) -> Any:
        raw = await request.body()
        body = json.loads(raw) if raw else None
        self.requests.append((request.method, request.url.path, dict(request.headers), body))
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            raise HTTPException(401)
        return body

    def application(self) -> Starlette:
        """Make its API."""
        return Starlette(
            routes=[
                Route(
                    f"{REPOSITORY}/workflows/provision-agent.yml/dispatches", self._dispatch, methods=["POST"]
                ),
                Route(f"{REPOSITORY}/workflows/provision-agent.yml/runs", self._list),
                Route(f"{REPOSITORY}/runs/{{run}}/cancel", self._cancel, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _refused},
        )


async def _refused(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"message": {401: "Bad credentials", 404: "Not Found"}.get(status, "")}, status)


@contextmanager
def simulated(
    folder: Path, secret: str = "", *, workflow: Path = WORKFLOW, script: Script | None = None
) -> Iterator[GitHub]:
    """Run the simulator; its runs end with it."""
    github = GitHub(folder, secret, workflow=workflow, script=script)
    with served(github.application()) as github.url:
        try:
            yield github
        finally:
            for run in github.runs:
                run.vanish()
