"""The generic executor: whatever takes a job as JSON by POST and reports back by signed callbacks."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from holdfast.domain.errors import DispatchFailed, DispatchRefused
from holdfast.runtime.executors.protocol import DEFAULT_TRIES, Dispatch, Executor, RunRef
from holdfast.runtime.outbound import Outbound, Reply

LONGEST_PAUSE = 3600.0

_LATER = {HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
# It may have been obeyed before the answer was lost, or is being obeyed at this moment.
_DOUBTFUL = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}


class HttpExecutor(Executor):
    """POSTs {job_id, attempt, callback_url, inputs} to a URL, with an Idempotency-Key that is the same for every try.

    After a lost answer the same is sent again: the receiver must start one run a key.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "http",
        headers: Mapping[str, str] | None = None,
        cancel_url: str | None = None,
        allow: Sequence[str] = (),
        secret: str | Sequence[str] | None = None,
        callback_url: str | None = None,
        tries: int = DEFAULT_TRIES,
    ) -> None:
        super().__init__(name, secret=secret, callback_url=callback_url, tries=tries)
        self._url = url
        self._cancel_url = cancel_url
        self._headers = dict(headers or {})
        self._outbound = Outbound(allow)

    async def start(self, dispatch: Dispatch) -> RunRef | None:
        """Send the job; the answer may name the run: {"run_id": …, "run_url": …}."""
        reply = await self._post(self._url, dispatch, {"inputs": dispatch.inputs})
        return _run_in(reply)

    async def cancel(self, dispatch: Dispatch) -> bool:
        """Tell the receiver, where it has an address for it; 404 and 410 say that there is nothing left to stop."""
        if self._cancel_url is None:
            return False
        try:
            await self._post(self._cancel_url, dispatch, {"run_id": dispatch.run_id})
        except _Gone:
            return True
        return False

    async def _post(self, url: str, dispatch: Dispatch, facts: dict[str, Any]) -> Reply:
        told = {
            "job_id": str(dispatch.job_id),
            "attempt": dispatch.attempt,
            "callback_url": dispatch.callback_url,
            **facts,
        }
        headers = {
            **self._headers,
            "Content-Type": "application/json",
            "Idempotency-Key": str(dispatch.token),
        }
        reply = await self._outbound.send("POST", url, headers=headers, content=json.dumps(told).encode())
        refuse_unless_taken(reply, f"executor {self.name}")
        return reply


class _Gone(DispatchRefused):
    """There is nothing at that address."""


def refuse_unless_taken(reply: Reply, who: str) -> None:
    """Tell answers that would come again from those that may not. The body is not repeated: it is somebody else's."""
    status = reply.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    if status in _LATER:
        raise DispatchFailed(f"{who} is busy ({status})", retry_after=retry_after(reply))
    if status in _DOUBTFUL or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise DispatchFailed(
            f"{who} answered {status}; whether it has the job is not known",
            retry_after=retry_after(reply),
            is_doubtful=True,
        )
    if status < HTTPStatus.BAD_REQUEST:
        raise DispatchRefused(
            f"{who} answered {status} with a redirect, which is not followed: give its final address"
        )
    kind = _Gone if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE} else DispatchRefused
    raise kind(f"{who} refused the job ({status}): check its address and its headers")


def retry_after(reply: Reply) -> float | None:
    """Read Retry-After, seconds or a date."""
    value = reply.headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return min(float(value), LONGEST_PAUSE)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    now = datetime.now(UTC)
    return min(max((at - now).total_seconds(), 0.0), LONGEST_PAUSE) if at.tzinfo else None


def _run_in(reply: Reply) -> RunRef | None:
    try:
        told = json.loads(reply.body or b"null")
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    run_id, run_url = told.get("run_id"), told.get("run_url")
    if not isinstance(run_id, str | int):
        return None
    url = run_url if isinstance(run_url, str) and run_url.startswith(("https://", "http://")) else None
    return RunRef(str(run_id)[:200], None if url is None else url[:2000])
