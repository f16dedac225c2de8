"""GitHub Actions as an executor: a workflow_dispatch starts the run, the workflow reports back by signed callbacks."""

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from holdfast.domain.errors import Configuration, DispatchFailed, DispatchRefused
from holdfast.runtime.executors.http import LONGEST_PAUSE, retry_after
from holdfast.runtime.executors.protocol import DEFAULT_TRIES, Dispatch, Executor, RunRef
from holdfast.runtime.outbound import Outbound, Reply

API = "https://api.github.com"
API_VERSION = "2022-11-28"
TOKEN_VARIABLE = "HOLDFAST_GITHUB_TOKEN"  # noqa: S105 - the name of a variable

_NEEDS = (
    "the token must be fine-grained, limited to this repository, with Actions: write, Contents: read and Metadata: read "
    "(a workflow's own GITHUB_TOKEN cannot dispatch)"
)
_SLUG = re.compile(r"[A-Za-z0-9._-]{1,100}")
# A list of runs repeats the whole repository with every run: two dozen kilobytes each.
_LARGEST_LIST = 4 * 1024 * 1024
_PAGE = 50
_PAGES = 3
# How far the two clocks may differ when runs are looked for by their age.
_SKEW = timedelta(hours=1)


class GitHubActions(Executor):
    """Starts a workflow of one repository.

    The workflow gets exactly the inputs given to ctx.dispatch, and job_id and callback_url. Its run-name must contain
    inputs.callback_url: that is how a run is found again whose start nobody heard the answer to.
    """

    def __init__(
        self,
        owner: str,
        repo: str,
        workflow: str | int,
        *,
        name: str = "github",
        token: str | Callable[[], str] | None = None,
        ref: str = "main",
        secret: str | Sequence[str] | None = None,
        callback_url: str | None = None,
        plain_signature: bool = False,
        api_url: str = API,
        allow: Sequence[str] = (),
        tries: int = DEFAULT_TRIES,
    ) -> None:
        super().__init__(
            name, secret=secret, callback_url=callback_url, plain_signature=plain_signature, tries=tries
        )
        for what, value in (("owner", owner), ("repo", repo), ("workflow", str(workflow))):
            if not _SLUG.fullmatch(value) or value in {".", ".."}:
                raise Configuration(f"executor {name!r}: {value!r} is no {what} as GitHub writes it")
        self._where = f"{owner}/{repo}"
        self._workflow = str(workflow)
        self._token = token
        self._ref = ref
        self._api_url = api_url.rstrip("/")
        self._outbound = Outbound(allow)
        self._names_runs = True  # until this server says that it does not know the parameter

    async def start(self, dispatch: Dispatch) -> RunRef | None:
        """Dispatch the workflow; newer servers name the run, older ones answer with nothing."""
        inputs = {
            **dispatch.inputs,
            "job_id": str(dispatch.job_id),
            "callback_url": dispatch.callback_url,
        }
        path = f"/actions/workflows/{self._workflow}/dispatches"
        body = {"ref": self._ref, "inputs": inputs}
        if self._names_runs:
            reply = await self._ask("POST", path, {**body, "return_run_details": True})
            if _does_not_know(reply):
                self._names_runs = False
                reply = await self._ask("POST", path, body)
        else:
            reply = await self._ask("POST", path, body)
        self._refuse_unless_taken(reply)
        return _named_in(reply)

    async def find(self, dispatch: Dispatch) -> RunRef | None:
        """Look among the runs since the dispatch for the one whose name carries this attempt."""
        since = (dispatch.planned_at - _SKEW).strftime("%Y-%m-%dT%H:%M:%SZ")
        for page in range(1, _PAGES + 1):
            wanted = urlencode(
                {"event": "workflow_dispatch", "created": f">={since}", "per_page": _PAGE, "page": page}
            )
            reply = await self._ask("GET", f"/actions/workflows/{self._workflow}/runs?{wanted}")
            self._refuse_unless_taken(reply)
            runs = _runs_in(reply)
            for run in runs:
                if dispatch.token.path in f"{run.get('display_title')} {run.get('name')}":
                    return RunRef(str(run["id"]), run.get("html_url"))
            if len(runs) < _PAGE:
                return None
        return None

    async def cancel(self, dispatch: Dispatch) -> bool:
        """Cancel the run; its own `if: always()` steps still report. 409 says that it has ended already."""
        run_id = dispatch.run_id
        if run_id is None:
            found = await self.find(dispatch)
            run_id = found.id if found is not None else None
        if run_id is None:
            raise DispatchFailed(f"no run of {self._where} carries this attempt in its name (yet)")
        reply = await self._ask("POST", f"/actions/runs/{quote(run_id, safe='')}/cancel")
        if reply.status == HTTPStatus.CONFLICT:
            return True
        self._refuse_unless_taken(reply)
        return False

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._read_token()}",
            "X-GitHub-Api-Version": API_VERSION,
            "User-Agent": "holdfast",
        }
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            headers["Content-Type"] = "application/json"
        url = f"{self._api_url}/repos/{self._where}{path}"
        if method == "GET":
            return await self._outbound.send(method, url, headers=headers, largest=_LARGEST_LIST)
        return await self._outbound.send(method, url, headers=headers, content=content)

    def _read_token(self) -> str:
        token = self._token() if callable(self._token) else self._token or os.environ.get(TOKEN_VARIABLE)
        if not token:
            raise DispatchRefused(
                f"executor {self.name!r} has no token: give token=… or set {TOKEN_VARIABLE}; {_NEEDS}"
            )
        return token

    def _refuse_unless_taken(self, reply: Reply) -> None:
        """Tell what would fail again from what may not, and name what is missing."""
        status = reply.status
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        if status == HTTPStatus.TOO_MANY_REQUESTS or (status == HTTPStatus.FORBIDDEN and _is_limited(reply)):
            raise DispatchFailed(f"GitHub limits its rate ({status})", retry_after=_limited_for(reply))
        if (
            status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
            or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        ):
            raise DispatchFailed(
                f"GitHub answered {status}; whether it started the run is not known",
                retry_after=retry_after(reply),
                is_doubtful=True,
            )
        raise DispatchRefused(self._refusal(reply))

    def _refusal(self, reply: Reply) -> str:
        said = _message_in(reply)
        match reply.status:
            case HTTPStatus.UNAUTHORIZED:
                return (
                    f"GitHub does not accept the token (401{said}): it is wrong, revoked or expired; {_NEEDS}"
                )
            case HTTPStatus.FORBIDDEN:
                needs = reply.headers.get("x-accepted-github-permissions", "actions=write")[:200]
                return f"GitHub forbids it (403{said}): the token lacks {needs} on {self._where}; {_NEEDS}"
            case HTTPStatus.NOT_FOUND:
                return (
                    f"GitHub finds no workflow {self._workflow} in {self._where} (404{said}): it is not there, or the token may not see it; "
                    f"{_NEEDS}"
                )
            case HTTPStatus.UNPROCESSABLE_ENTITY:
                return (
                    f"GitHub refuses the dispatch (422{said}): {self._workflow} on {self._ref} must have on: workflow_dispatch "
                    "and declare exactly the inputs that are sent"
                )
            case status:
                return f"GitHub refuses it ({status}{said})"


def _does_not_know(reply: Reply) -> bool:
    return (
        reply.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
        and b"return_run_details" in reply.body
    )


def _is_limited(reply: Reply) -> bool:
    return "retry-after" in reply.headers or reply.headers.get("x-ratelimit-remaining") == "0"


def _limited_for(reply: Reply) -> float | None:
    told = retry_after(reply)
    reset = reply.headers.get("x-ratelimit-reset", "")
    if told is None and reset.isascii() and reset.isdecimal():
        return min(max(int(reset) - time.time(), 1.0), LONGEST_PAUSE)
    return told


def _parsed(reply: Reply) -> Any:
    try:
        return json.loads(reply.body or b"null")
    except ValueError:
        return None


def _message_in(reply: Reply) -> str:
    told = _parsed(reply)
    message = told.get("message") if isinstance(told, dict) else None
    return f": {' '.join(message.split())[:200]}" if isinstance(message, str) and message else ""


def _named_in(reply: Reply) -> RunRef | None:
    told = _parsed(reply)
    if not isinstance(told, dict) or not isinstance(told.get("workflow_run_id"), int):
        return None
    url = told.get("html_url")
    return RunRef(str(told["workflow_run_id"]), url if isinstance(url, str) else None)


def _runs_in(reply: Reply) -> list[dict[str, Any]]:
    told = _parsed(reply)
    runs = told.get("workflow_runs") if isinstance(told, dict) else None
    if not isinstance(runs, list):
        # Cut short or not what it should be: to take it for "no run" would start a second one.
        raise DispatchFailed("GitHub's list of runs cannot be read", is_doubtful=True)
    return [run for run in runs if isinstance(run, dict) and "id" in run]
