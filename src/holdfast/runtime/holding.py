"""Jobs claimed by a host that runs them itself: fenced and kept alive like a worker's."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import holdfast.store.claim as claims
from holdfast.domain.errors import BadInput, DatabaseUnavailable, HoldfastError, LeaseLost, Undecipherable
from holdfast.domain.job import ClaimedJob
from holdfast.domain.outcome import Failed, Released, outcome_of, settlement
from holdfast.domain.payload import encode_result
from holdfast.domain.redaction import NOTHING, Hidden
from holdfast.domain.states import Status
from holdfast.runtime import chance
from holdfast.runtime.heartbeat import Heartbeat
from holdfast.runtime.identity import Identity
from holdfast.runtime.logs import events
from holdfast.runtime.projector import SLICE
from holdfast.runtime.sealing import opened
from holdfast.store import upkeep
from holdfast.store.call import Call
from holdfast.store.enqueue import register_tasks
from holdfast.store.errors import WorkerUnknown
from holdfast.store.finish import Settled, complete, settle
from holdfast.store.project import project

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

# What a host that ends still projects; workers do the rest.
LAST_SLICES = 10
LEASE = 30.0


class Holding:
    """What this process holds: an identity with a heartbeat, and the attempts it has claimed."""

    def __init__(self, app: "Holdfast") -> None:
        self._app = app
        self._held: dict[tuple[UUID, int], ClaimedJob] = {}
        self._claiming = threading.Lock()
        self._sweep_at = 0.0
        self._unheard: list[UUID] = []  # claims whose answer never came
        self._identity: Identity | None = None
        self._heartbeat: Heartbeat | None = None
        self._lock = threading.Lock()

    def _alive(self) -> Identity:
        with self._lock:  # threads that claim at once share one identity
            if self._identity is None:
                self._identity = self._born()
            return self._identity

    def _born(self) -> Identity:
        identity = Identity({}, tuple(sorted(self._app.tasks)), LEASE)
        self._app.link.perform(register_tasks(self._app.definitions(self._app.tasks)))
        self._app.link.perform(identity.registration())
        self._heartbeat = Heartbeat(
            self._app.link.database,
            identity,
            lambda: [(job.id, job.claim_id) for job in list(self._held.values())],
            lambda _lost: None,  # the host learns it when it finishes
            lambda: self._forget(identity),
        )
        self._heartbeat.start()
        return identity

    def _forget(self, dead: Identity) -> None:
        """Become somebody new with the next claim; unless that has happened already."""
        if self._identity is dead:
            self._identity = None

    def claim(self, limit: int, queue: str) -> "list[Claimed]":
        """Claim jobs of a queue; after a lost answer the same claim is asked for again."""
        if limit < 1:
            raise BadInput(f"claim({limit}) asks for no job: ask for 1 or more")
        with self._claiming:  # one at a time: a claim that was not heard must be recovered once
            return self._claim_here(limit, queue)

    def _claim_here(self, limit: int, queue: str) -> "list[Claimed]":
        identity = self._alive()
        me, tasks = identity.id, sorted(self._app.tasks)
        self._tidy(limit)
        try:
            jobs = self._claim(me, lambda claim_id: claims.claim(me, claim_id, queue, tasks, limit, None))
            if not jobs and not self._held:
                # Nor takes anybody else the jobs of a host that died; alone, as a worker would: beside nothing held under an earlier name.
                jobs = self._claim(
                    me,
                    lambda claim_id: claims.claim_suspect(me, claim_id, [queue], tasks, runs_on=False),
                )
        except WorkerUnknown:
            self._forget(identity)
            return self._claim_here(limit, queue)
        for job in jobs:
            self._held[job.id, job.attempt] = job
        return [Claimed(self._app, self, me, job) for job in jobs]

    def _tidy(self, limit: int) -> None:
        """Where no worker runs, nobody else puts what is due into the line, or takes back what dead hosts hold."""
        self._app.link.perform(upkeep.admit_due(limit))
        if time.monotonic() >= self._sweep_at:
            self._sweep_at = time.monotonic() + LEASE / Heartbeat.BEATS_PER_LEASE
            self._app.link.perform(upkeep.sweep())
            self._project()

    def _project(self, most: int = 1) -> None:
        """Keep the figures, at most so many slices; another process that is at it has the work left to it."""
        with suppress(HoldfastError):  # the next one makes up for it
            for _ in range(most):
                if not self._app.link.perform_once(project(SLICE)).more:
                    return

    def _claim(self, me: UUID, make: Callable[[UUID], Call[list[ClaimedJob]]]) -> list[ClaimedJob]:
        """Claim; what earlier claims took without our hearing of it comes first."""
        if self._unheard:
            heard = [
                job
                for claim_id in self._unheard
                for job in self._app.link.perform(claims.recover_claim(me, claim_id))
            ]
            self._unheard.clear()
            if heard:
                return heard
        claim_id = uuid4()
        try:
            return self._app.link.perform_once(make(claim_id))
        except DatabaseUnavailable:
            self._unheard.append(claim_id)
            jobs = self._app.link.perform(claims.recover_claim(me, claim_id))
            self._unheard.remove(claim_id)
            return jobs

    def let_go(self, job: ClaimedJob) -> None:
        """Stop keeping an attempt alive."""
        self._held.pop((job.id, job.attempt), None)

    def close(self) -> None:
        """Say goodbye; what is still held goes back at once."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        identity, self._identity = self._identity, None
        if identity is None:
            return
        self._project(LAST_SLICES)
        try:
            self._app.link.perform(claims.retire_worker(identity.id))
        except DatabaseUnavailable as error:  # its lease ends without it
            events.warning("host:not_retired", extra={"worker": identity.name, "error": str(error)})


class Claimed:
    """An attempt in the host's hands: complete it, fail it, or give it back; a stale one gets LeaseLost."""

    def __init__(self, app: "Holdfast", holding: Holding, worker_id: UUID, job: ClaimedJob) -> None:
        self._app = app
        self._holding = holding
        self._worker_id = worker_id
        self._job = job
        self.id = job.id
        self.task = job.task
        self.attempt = job.attempt
        self.tenant = job.tenant
        self.subject = job.subject

    def __repr__(self) -> str:
        return f"Claimed({self.id}, task={self.task!r}, attempt={self.attempt})"

    @property
    def payload(self) -> dict[str, Any]:
        """The payload as plain JSON."""
        stored: dict[str, Any] = json.loads(self._opened())
        return stored

    @property
    def arguments(self) -> dict[str, Any]:
        """The payload as the task's typed arguments."""
        return self._app.tasks[self.task].codec.decode(self._opened())

    def _opened(self) -> str:
        return opened(self._app.encryption, self._app.link, self._job)

    def complete(self, result: Any = None) -> None:
        """Record success."""
        text = None if result is None else encode_result(result)
        lost = self._app.link.perform(complete(self._worker_id, [(self._job, text, None)]))
        self._let_go(lost[0] if lost else None)

    def fail(
        self, error: BaseException | str, *, recoverable: bool | None = None, in_: float | None = None
    ) -> Status:
        """Record a failure: RETRY while it is recoverable and retries are left, else FAILED."""
        return self._settle(self._outcome(error, recoverable, in_))

    def release(self, reason: str = "released by its host") -> None:
        """Give the job back unharmed."""
        self._settle(Released(reason))

    def _outcome(self, error: BaseException | str, recoverable: bool | None, in_: float | None) -> Failed:
        settings = self._app.tasks[self.task].settings
        raised = error if isinstance(error, BaseException) else RuntimeError(error)
        outcome = outcome_of(
            raised,
            settings.backoff,
            settings.rules,
            self._job.retry_count,
            chance.share(),
            datetime.now(UTC),
        )
        if not isinstance(outcome, Failed):
            outcome = Failed(
                {"kind": "application", "type": "Cancel", "message": str(raised)},
                recoverable=False,
                delay=0.0,
            )
        may_retry = outcome.recoverable if recoverable is None else recoverable
        hidden = self._hidden(settings.options.get("redact", ()))
        told = hidden.text({**outcome.error, "recoverable": may_retry})
        return Failed(told, may_retry, outcome.delay if in_ is None else in_, hidden.text(outcome.reason))

    def _hidden(self, paths: Sequence[str]) -> Hidden:
        try:
            return Hidden.of(self.payload, paths) if paths else NOTHING
        except Undecipherable:  # nobody here has read what is hidden
            return NOTHING

    def _settle(self, outcome: Failed | Released) -> Status:
        fence = {"id": str(self._job.id), "attempt": self._job.attempt, "claim_id": str(self._job.claim_id)}
        settled = self._app.link.perform(settle(self._worker_id, [{**settlement(outcome), **fence}]))[0]
        self._let_go(settled)
        assert settled.status is not None  # noqa: S101 - a recorded outcome has a status
        return settled.status

    def _let_go(self, settled: Settled | None) -> None:
        self._holding.let_go(self._job)
        if settled is not None and not settled.recorded:
            raise LeaseLost(self._job.id, self._job.attempt, settled.status)
