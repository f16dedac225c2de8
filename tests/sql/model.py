"""The machine once more, as plain Python: what each call does to a job, written down without looking at the SQL."""

from dataclasses import dataclass, field
from uuid import UUID

from holdfast.domain.states import Status

CRASH_CAP = 3


@dataclass(slots=True)
class Attempt:
    """What a worker remembers of a claim, for ever."""

    job_id: UUID
    number: int
    claim_id: UUID
    worker: UUID


@dataclass(slots=True)
class Job:
    """What the machine knows of a job."""

    id: UUID
    max_retries: int
    key: str | None = None
    scope: str | None = None
    status: Status = Status.PENDING
    in_line: bool = True
    delayed: bool = False
    attempt: int = 0
    retries: int = 0
    crashes: int = 0
    suspect: bool = False
    holds_key: bool = False
    holder: UUID | None = None
    claim_id: UUID | None = None
    retried: bool = False
    asked: int = 0
    is_outside: bool = False  # an executor has it
    approval_id: UUID | None = None
    path: list[Status] = field(default_factory=lambda: [Status.PENDING])

    def owned_by(self, attempt: Attempt) -> bool:
        """Whether an attempt still speaks for the job."""
        return self.is_current(attempt) and not self.is_outside

    def is_current(self, attempt: Attempt) -> bool:
        """Whether an attempt is the one that runs, here or in an executor's hands."""
        return (self.status, self.attempt, self.claim_id) == (
            Status.RUNNING,
            attempt.number,
            attempt.claim_id,
        )

    def hand_over(self, run: UUID) -> None:
        """Give the attempt to an executor: it stays RUNNING, and its worker has survived it."""
        self.holder, self.is_outside, self.suspect = run, True, False

    def hear(self, action: str, attempt: Attempt, *, recoverable: bool) -> str:
        """Take what an executor reports of an attempt; answers what it is told."""
        if (self.attempt, self.claim_id) != (attempt.number, attempt.claim_id):
            return "stale_attempt"
        if not self.is_outside:
            return "already_over"
        if action == "completed":
            self.move(Status.COMPLETED)
        elif action == "failed":
            self.fail(recoverable=recoverable, delayed=False)
        return "ok"

    def move(self, status: Status) -> None:
        """Go to a status, and leave behind what belonged to the last."""
        self.status, self.holder, self.in_line, self.delayed, self.approval_id = (
            status,
            None,
            False,
            False,
            None,
        )
        self.is_outside = False
        self.path.append(status)
        if status.is_terminal:
            self.suspect = False
            self.holds_key = self.holds_key and (
                self.scope == "ever" or (self.scope == "success" and status is Status.COMPLETED)
            )

    def claim(self, worker: UUID, claim_id: UUID) -> Attempt:
        """Begin an attempt; whether it is suspected is not forgotten before it ends."""
        suspect = self.suspect
        self.move(Status.RUNNING)
        self.attempt += 1
        self.holder, self.claim_id, self.suspect = worker, claim_id, suspect
        return Attempt(self.id, self.attempt, claim_id, worker)

    def retry(self, *, delayed: bool = False, suspect: bool = False) -> None:
        """Go back into the line, at once or later."""
        self.move(Status.RETRY)
        self.in_line, self.delayed, self.suspect = not delayed, delayed, suspect

    def fail(self, *, recoverable: bool, delayed: bool) -> None:
        """End an attempt by the task's own fault."""
        if recoverable and self.retries < self.max_retries:
            self.retries += 1
            self.retry(delayed=delayed)
        else:
            self.move(Status.FAILED)

    def crash(self) -> None:
        """End an attempt that took its process with it."""
        self.crashes += 1
        if self.crashes < CRASH_CAP:
            self.retry(suspect=True)
        else:
            self.move(Status.FAILED)

    def lose_worker(self, *, alone: bool) -> None:
        """End an attempt whose worker has died: only one that was suspected and ran alone is charged with it."""
        if self.suspect and alone:
            self.crash()
        else:
            self.retry(suspect=True)
