"""The machine once more, as plain Python: what each call does to a job, written down without looking at the SQL."""

from dataclasses import dataclass, field, replace
from uuid import UUID

from holdfast.domain.states import Status

CRASH_CAP = 3


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a worker remembers of a claim, for ever."""

    job_id: UUID
    number: int
    claim_id: UUID
    worker: UUID


@dataclass(frozen=True, slots=True)
class Wait:
    """A step that has been asked for and not been answered: the next attempt asks it again."""

    step: str
    event: str | None = None
    jobs: tuple[UUID, ...] = ()
    until: int | None = None  # gives up then


@dataclass(slots=True)
class Job:
    """What the machine knows of a job. Its dicts are replaced, never changed in place: a shallow copy is enough."""

    id: UUID
    max_retries: int
    key: str | None = None
    scope: str | None = None
    status: Status = Status.PENDING
    in_line: bool = True
    due: int | None = None  # when it comes into the line by itself
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
    parent: UUID | None = None
    not_before: int = 0
    needs: frozenset[UUID] = frozenset()  # what it was enqueued after
    runs_anyway: bool = False  # whatever became of what it needs
    awaits: frozenset[UUID] = frozenset()  # of those it rests for, who have not ended
    wait: Wait | None = None
    answers: dict[str, str] = field(default_factory=dict)  # of steps that are over
    taken: dict[str, int] = field(
        default_factory=dict
    )  # of the events of a name, how many it has been through
    path: tuple[Status, ...] = (Status.PENDING,)

    @property
    def rests(self) -> bool:
        """Whether it is for somebody else to bring it into the line: an event, the end of a job, or its time."""
        return self.status in (Status.PENDING, Status.WAITING) and not self.in_line

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
            self.fail(recoverable=recoverable)
        return "ok"

    def move(self, status: Status) -> None:
        """Go to a status, and leave behind what belonged to the last."""
        self.status, self.holder, self.in_line, self.due, self.approval_id = status, None, False, None, None
        self.is_outside, self.awaits = False, frozenset()
        self.path = (*self.path, status)
        if status.is_terminal:
            self.suspect = False
            self.holds_key = self.holds_key and (
                self.scope == "ever" or (self.scope == "success" and status is Status.COMPLETED)
            )

    def enter_line(self, now: int) -> None:
        """Come into the line, or where its time has not come, wait for that."""
        self.in_line = self.not_before <= now
        self.due = None if self.in_line else self.not_before

    def claim(self, worker: UUID, claim_id: UUID) -> Attempt:
        """Begin an attempt; whether it is suspected is not forgotten before it ends."""
        suspect = self.suspect
        self.move(Status.RUNNING)
        self.attempt += 1
        self.holder, self.claim_id, self.suspect = worker, claim_id, suspect
        return Attempt(self.id, self.attempt, claim_id, worker)

    def retry(self, *, due: int | None = None, suspect: bool = False) -> None:
        """Go back into the line, at once or later."""
        self.move(Status.RETRY)
        self.in_line, self.due, self.suspect = due is None, due, suspect

    def fail(self, *, recoverable: bool, due: int | None = None) -> None:
        """End an attempt by the task's own fault."""
        if recoverable and self.retries < self.max_retries:
            self.retries += 1
            self.retry(due=due)
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

    # -- waits: a step is answered once, and every later attempt is told the same ----------------------------------------

    def sleep(self, step: str, *, until: int, now: int) -> bool:
        """Rest until a time; one that has come is no wait, and one that was slept until is over."""
        if step in self.answers or until <= now:
            self.answers = {**self.answers, step: "over"}
            return False
        self._answer(step, "over")
        self._rest(until)
        return True

    def wait_for_event(self, wait: Wait, emitted: int, *, now: int) -> str:
        """Take the oldest event that it has not taken yet; answers which, where it is not the time that is up."""
        assert wait.event is not None
        if wait.step in self.answers:
            return self.answers[wait.step]
        taken = self.taken.get(wait.event, 0)
        if taken < emitted:
            self.taken = {**self.taken, wait.event: taken + 1}
            return self._answer(wait.step, f"{wait.event} {taken}")
        return self._wait(wait, frozenset(), now)

    def wait_for_jobs(self, wait: Wait, unended: frozenset[UUID], *, now: int) -> str:
        """Wait until all have ended."""
        if wait.step in self.answers:
            return self.answers[wait.step]
        return self._wait(wait, unended, now) if unended else self._answer(wait.step, "over")

    def _wait(self, wait: Wait, unended: frozenset[UUID], now: int) -> str:
        if self.wait and self.wait.step == wait.step:
            wait = replace(wait, until=self.wait.until)  # counted from when it was asked first
        if wait.until is not None and wait.until <= now:
            return self._answer(wait.step, "timed out")
        self.wait = wait
        self._rest(wait.until)
        self.awaits = unended
        return "waits"

    def _answer(self, step: str, answer: str) -> str:
        self.wait, self.answers = None, {**self.answers, step: answer}
        return answer

    def _rest(self, until: int | None) -> None:
        self.move(Status.WAITING)
        self.due, self.suspect = until, False  # its worker survived it
