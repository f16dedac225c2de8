"""The dispatcher: calls outside executors for the jobs that were handed to them, in every worker that knows those executors."""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, assert_never
from uuid import UUID

from holdfast.domain.callback import Token
from holdfast.domain.errors import DispatchFailed, DispatchRefused, HoldfastError
from holdfast.runtime import failpoints, tracing
from holdfast.runtime.executors.protocol import Dispatch, Executor, RunRef
from holdfast.runtime.job_context import hidden_here, hidden_outside
from holdfast.runtime.logs import events
from holdfast.runtime.loop import cancelled
from holdfast.runtime.outage import insist
from holdfast.runtime.sealing import hidden_by
from holdfast.store import dispatch as calls
from holdfast.store.call import Call
from holdfast.store.connection import AsyncSession, Database
from holdfast.store.hidden import hidden_of

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

T = TypeVar("T")

AT_ONCE = 20
# Longer than the longest a call may take, looking included: within it nobody else makes the same call.
LEASE = 90.0
LONGEST_CALL = 75.0
LONGEST_PAUSE = 60.0
LAST_SECONDS = 5.0
# After an answer that is no outage: somebody has to mend something, and the jobs must go on meanwhile.
REFUSED_PAUSE = 5.0
_CANCEL_TRIES = 8


class Dispatcher:
    """Takes due calls, makes them, and records what came of them; a call that nobody heard of again is looked for."""

    def __init__(
        self, app: "Holdfast", database: Database, worker_id: Callable[[], UUID], poll: float
    ) -> None:
        self._session = AsyncSession(database, "holdfast dispatch")
        self._executors = app.executors
        self._worker_id = worker_id
        self._poll = poll
        self._encryption = app.encryption
        self._kicked = asyncio.Event()
        self._looks_begun = 0
        self._looks_ended = 0
        self._calls: set[asyncio.Task[None]] = set()
        self._is_running = False
        self._is_stopping = False

    def kick(self) -> None:
        """Look at once: something was handed over, or is to be cancelled."""
        self._kicked.set()

    async def is_idle(self) -> bool:
        """Look once more, and tell whether there was nothing to do and nothing is being done."""
        if not self._is_running:
            return True
        wanted = self._looks_begun + 1  # one that begins after this moment
        while self._looks_ended < wanted:
            self.kick()
            await asyncio.sleep(0.002)
        return not self._calls

    async def run(self) -> None:
        """Make the calls that are due, until cancelled."""
        self._is_running = True
        try:
            while True:
                self._kicked.clear()
                self._looks_begun += 1
                taken = await self._take()
                self._calls |= {asyncio.create_task(self._make(call)) for call in taken}
                self._looks_ended = self._looks_begun
                if not taken:
                    await self._rest()
                self._forget_ended()
        finally:
            self._is_running = False
            await cancelled(self._calls)

    async def finish(self) -> None:
        """Take no more, and give the calls that are under way a moment to end."""
        self._is_stopping = True
        if self._calls:
            await asyncio.wait(self._calls, timeout=LAST_SECONDS)

    async def close(self) -> None:
        """Hang up; the loop has ended by now."""
        await self._session.close()

    async def _take(self) -> list[calls.DueCall]:
        room = AT_ONCE - len(self._calls)
        if room <= 0 or self._is_stopping:
            return []
        try:
            return await self._insist(
                lambda: calls.take_dispatches(self._worker_id(), sorted(self._executors), room, LEASE)
            )
        except HoldfastError as error:
            events.error("dispatch:refused", extra={"error": str(error)})
            await asyncio.sleep(REFUSED_PAUSE)
            return []

    async def _rest(self) -> None:
        kick = asyncio.create_task(self._kicked.wait())
        await asyncio.wait({kick, *self._calls}, timeout=self._poll, return_when=asyncio.FIRST_COMPLETED)
        await cancelled([kick])

    def _forget_ended(self) -> None:
        for call in [call for call in self._calls if call.done()]:
            self._calls.discard(call)
            call.result()  # a simulated crash ends the worker; nothing else comes out of a call

    # -- one call --------------------------------------------------------------------------------------------------------

    async def _make(self, call: calls.DueCall) -> None:
        failpoints.reach("dispatch_taken")
        executor = self._executors[call.executor]
        try:
            # What the executor's code logs, and what it raises, is told without it; this call is a task of its own.
            hidden_outside.set(
                hidden_by(self._encryption, await self._insist(lambda: hidden_of(call.job_id)))
            )
            if call.wanted == "cancel":
                await self._cancel(executor, call)
            else:
                await self._start(executor, call)
        except HoldfastError as error:
            # The database refuses what we tell it. The lease ends, and then the call is looked for again.
            events.error("dispatch:refused", extra={**_facts(call), "error": str(error)})

    async def _start(self, executor: Executor, call: calls.DueCall) -> None:
        try:
            run = await _within(self._find_or_start(executor, call))
        except (DispatchRefused, DispatchFailed) as error:
            await self._failed(executor, call, error)
            return
        failpoints.reach("dispatch_called")
        await self._insist(
            lambda: calls.dispatch_sent(call.id, run.id if run else None, run.url if run else None)
        )
        events.info("dispatch:sent", extra={**_facts(call), "run": run.id if run else None})

    async def _find_or_start(self, executor: Executor, call: calls.DueCall) -> RunRef | None:
        dispatch = _dispatch(executor, call)
        match call.wanted:
            case "find":
                found = await executor.find(dispatch)
                return found if found is not None else await _started(executor, dispatch)
            case "start" | "cancel":
                return await _started(executor, dispatch)
            case _:
                assert_never(call.wanted)

    async def _failed(
        self, executor: Executor, call: calls.DueCall, error: DispatchRefused | DispatchFailed
    ) -> None:
        doubtful = call.wanted == "find" or (isinstance(error, DispatchFailed) and error.is_doubtful)
        became = await self._insist(
            lambda: calls.dispatch_failed(
                call,
                _told(error),
                permanent=isinstance(error, DispatchRefused),
                doubtful=doubtful,
                delay=_pause(call.number, error),
                most_tries=executor.tries,
            )
        )
        events.warning("dispatch:failed", extra={**_facts(call), "error": _said(error), "became": became})

    async def _cancel(self, executor: Executor, call: calls.DueCall) -> None:
        has_ended, problem, again_in = False, None, None
        try:
            has_ended = bool(await _within(_ask_to_stop(executor, call)))
        except (DispatchRefused, DispatchFailed) as error:
            problem = _told(error)
            if isinstance(error, DispatchFailed) and call.number < _CANCEL_TRIES:
                again_in = _pause(call.number, error)
            events.warning("dispatch:not_cancelled", extra={**_facts(call), "error": _said(error)})
        await self._insist(
            lambda: calls.dispatch_cancelled(call.id, has_ended=has_ended, error=problem, again_in=again_in)
        )

    async def _insist(self, make: Callable[[], Call[T]]) -> T:
        return await insist(self._session, make, "dispatch")


async def _within(work: Any) -> Any:
    """Await what an executor does; whatever it raises that says nothing about the run leaves the run in doubt."""
    try:
        async with asyncio.timeout(LONGEST_CALL):
            return await work
    except (DispatchRefused, DispatchFailed):
        raise
    except HoldfastError as error:  # a setting is missing: that mends nobody by trying again
        raise DispatchRefused(str(error)) from error
    except TimeoutError as error:
        raise DispatchFailed(
            f"the executor did not answer within {LONGEST_CALL:g} s", is_doubtful=True
        ) from error
    except Exception as error:
        events.exception("dispatch:executor_failed")
        raise DispatchFailed(_said(error, f"{type(error).__name__}: ")[:500], is_doubtful=True) from error


async def _started(executor: Executor, dispatch: Dispatch) -> RunRef | None:
    with tracing.dispatch(executor.name, dispatch.job_id):
        return await executor.start(dispatch)


async def _ask_to_stop(executor: Executor, call: calls.DueCall) -> bool:
    return await executor.cancel(_dispatch(executor, call))


def _dispatch(executor: Executor, call: calls.DueCall) -> Dispatch:
    token = Token(call.job_id, call.attempt, call.claim_id)
    return Dispatch(
        call.id,
        token,
        json.loads(call.inputs),
        executor.callback_url(token),
        call.planned_at,
        call.run_id or call.run_ref,
    )


def _pause(tries: int, error: DispatchRefused | DispatchFailed) -> float:
    """Wait 1, 2, 4 … 60 seconds, or as long as the executor asks."""
    asked = error.retry_after if isinstance(error, DispatchFailed) else None
    return float(min(2 ** min(tries - 1, 10), LONGEST_PAUSE)) if asked is None else max(asked, 0.0)


def _told(error: DispatchRefused | DispatchFailed) -> dict[str, Any]:
    kind = DispatchRefused if isinstance(error, DispatchRefused) else DispatchFailed
    return {"type": kind.__name__, "kind": "dispatch", "message": _said(error)[:2000]}


def _said(error: Exception, before: str = "") -> str:
    """Give what an executor's error says, without what the job's task redacts; cut after that, not before."""
    return str(hidden_here().text(f"{before}{error}"))


def _facts(call: calls.DueCall) -> dict[str, object]:
    return {
        "job_id": str(call.job_id),
        "attempt": call.attempt,
        "executor": call.executor,
        "wanted": call.wanted,
        "try": call.number,
    }
