"""The jobs of the model together: who holds a key, who runs after whom, who waits for whom, and what an end sets in motion."""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.domain.states import Status
from sql.model import Job, Wait

# What a run of lives has to come across, or it shows nothing of it.
EVERYTHING = frozenset(
    {
        "a sleep", "a wait for an event", "a wait for jobs", "an event wakes", "an event was there before", "a wait timed out",
        "an end wakes", "a wait for ever is refused", "children", "a child is cancelled", "a child is left alone",
        "a start after an end", "a start after a failure", "a follower is cancelled", "a job that never starts is refused",
        "a key is returned", "a key is raised", "a job is replaced", "what has started is not replaced",
    }
)  # fmt: skip


class RefusedError(Exception):
    """What is asked is refused, and nothing is done."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job as its caller wants it."""

    id: UUID
    max_retries: int = 1
    key: str | None = None
    scope: str = "active"
    on_conflict: str = "return"
    later: bool = False
    after: tuple[UUID, ...] = ()
    runs_anyway: bool = False
    parent: UUID | None = None


@dataclass(slots=True)
class World:
    """All jobs, what was emitted, and the time."""

    happened: Counter[str]
    jobs: dict[UUID, Job] = field(default_factory=dict)
    emitted: Counter[str] = field(default_factory=Counter)
    now: int = 0
    told: set[UUID] = field(default_factory=set)  # whose end everybody knows of

    @property
    def later(self) -> int:
        """When whatever is delayed is due: all delays are alike."""
        return self.now + 1

    def unended(self, ids: Sequence[UUID]) -> frozenset[UUID]:
        """Of jobs those that have not ended."""
        return frozenset(each for each in ids if not self.jobs[each].status.is_terminal)

    def holder_of(self, key: str | None) -> Job | None:
        """Who holds a key."""
        return next((job for job in self.jobs.values() if key and job.holds_key and job.key == key), None)

    def pass_time(self) -> None:
        """Let it become as late as what is delayed now is due."""
        self.now = self.later
        for job in self.jobs.values():
            if job.due is not None and job.due <= self.now:
                job.in_line, job.due = True, None

    # -- enqueue ---------------------------------------------------------------------------------------------------------

    def enqueue(self, wanted: Sequence[Wanted]) -> list[UUID]:
        """Make jobs, all or none; answers which job stands for each."""
        before = {job.id: copy(job) for job in self.jobs.values()}, set(self.told)
        try:
            stands = {one.id: self._make(one) for one in sorted(wanted, key=lambda one: one.key or "")}
            for one in wanted:
                if one.after and stands[one.id] == one.id:
                    self._tie(one, {stands.get(each, each) for each in one.after})
        except RefusedError:
            self.jobs, self.told = before
            raise
        return [stands[one.id] for one in wanted]

    def _make(self, wanted: Wanted) -> UUID:
        holder = self.holder_of(wanted.key)
        if holder:
            if wanted.on_conflict == "raise":
                self.happened["a key is raised"] += 1
                raise RefusedError("HF006")
            if wanted.on_conflict != "replace" or holder.status is not Status.PENDING:
                is_late = wanted.on_conflict == "replace"
                self.happened["what has started is not replaced" if is_late else "a key is returned"] += 1
                return holder.id
            self._replace(holder)
        job = Job(wanted.id, wanted.max_retries, wanted.key, wanted.scope if wanted.key else None)
        job.holds_key, job.parent, job.in_line = wanted.key is not None, wanted.parent, False
        job.not_before = self.later if wanted.later else self.now
        if not wanted.after:
            job.enter_line(self.now)
        self.jobs[job.id] = job
        return job.id

    def _replace(self, job: Job) -> None:
        """Take a job's place: it gives its key up, whatever the scope, and goes with all that needs it."""
        self.happened["a job is replaced"] += 1
        job.move(Status.CANCELLED)
        job.holds_key = False
        self.follow()

    def _tie(self, wanted: Wanted, needs: set[UUID]) -> None:
        """Let a job that was just born run after others."""
        job = self.jobs[wanted.id]
        if job.status is not Status.PENDING:
            return  # replaced by the same call
        lost = {self.jobs[each].status for each in needs} & {Status.FAILED, Status.CANCELLED}
        if lost and not wanted.runs_anyway:
            self.happened["a job that never starts is refused"] += 1
            raise RefusedError("HF005")
        job.needs, job.runs_anyway, job.awaits = frozenset(needs), wanted.runs_anyway, self.unended([*needs])
        if not job.awaits:
            job.enter_line(self.now)

    # -- waits -----------------------------------------------------------------------------------------------------------

    def emit(self, event: str) -> int:
        """Keep an event, and let all go on that rest for it."""
        self.emitted[event] += 1
        woken = [job for job in self.jobs.values() if job.rests and job.wait and job.wait.event == event]
        for job in woken:
            self.happened["an event wakes"] += 1
            job.in_line, job.due = True, None
        return len(woken)

    def wait(self, job: Job, wait: Wait) -> str:
        """Let a job wait, for an event or for jobs."""
        if wait.event is not None:
            self.happened["a wait for an event"] += 1
            told = job.wait_for_event(wait, self.emitted[wait.event], now=self.now)
            self.happened["an event was there before"] += told not in ("waits", "timed out")
        else:
            self.happened["a wait for jobs"] += 1
            told = self._wait_for_jobs(job, wait)
        self.happened["a wait timed out"] += told == "timed out"
        return told

    def _wait_for_jobs(self, job: Job, wait: Wait) -> str:
        unended, before = self.unended(wait.jobs), copy(job)
        told = job.wait_for_jobs(wait, unended, now=self.now)
        if told == "waits" and job.due is None and self._is_awaited_by(job.id, unended):
            self.jobs[job.id] = before
            self.happened["a wait for ever is refused"] += 1
            raise RefusedError("HF005")
        return told

    def _is_awaited_by(self, awaited: UUID, jobs: frozenset[UUID]) -> bool:
        """Whether one of these jobs rests for this one, be it through others, and none of them ever gives up."""
        seen: set[UUID] = set()
        ahead = set(jobs)
        while ahead:
            each = self.jobs[ahead.pop()]
            if each.id == awaited:
                return True
            seen.add(each.id)
            if each.rests and each.due is None:
                ahead |= each.awaits - seen
        return False

    # -- ends ------------------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Tell everybody of the ends that nobody knows of, until there is none."""
        while ended := [
            job for job in self.jobs.values() if job.status.is_terminal and job.id not in self.told
        ]:
            for job in ended:
                self.told.add(job.id)
                self._cancel_with(job)
                self._go_on_after(job)

    def _cancel_with(self, ended: Job) -> None:
        """Cancel what has not started and needs what was lost; children only with a parent that is cancelled."""
        if ended.status is Status.COMPLETED:
            return
        for job in self.jobs.values():
            needs_it = ended.id in job.needs and not job.runs_anyway
            is_child = job.parent == ended.id
            if job.status is not Status.PENDING:
                continue
            if needs_it or (is_child and ended.status is Status.CANCELLED):
                self.happened["a follower is cancelled" if needs_it else "a child is cancelled"] += 1
                job.move(Status.CANCELLED)
            elif is_child:
                self.happened["a child is left alone"] += 1

    def _go_on_after(self, ended: Job) -> None:
        """Let those come into the line who have rested for this end and rest for no other."""
        for job in self.jobs.values():
            if ended.id not in job.awaits:
                continue
            job.awaits -= {ended.id}
            if not job.awaits and job.rests:
                failed = ended.status is not Status.COMPLETED
                start = "a start after a failure" if failed else "a start after an end"
                self.happened[start if job.status is Status.PENDING else "an end wakes"] += 1
                job.enter_line(self.now)
