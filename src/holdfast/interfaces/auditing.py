"""The audit: slice by slice through the jobs, each slice in a snapshot of its own, and then all that is about no job."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from holdfast.domain.audit import Finding
from holdfast.domain.audit_guards import judge_guards, judge_schema, judge_server
from holdfast.domain.audit_sums import Sums
from holdfast.domain.audit_times import Ran, Timetable
from holdfast.runtime import chance
from holdfast.store import audit, overview
from holdfast.store.audit import EVERYTHING, Place, Range
from holdfast.store.call import Call
from holdfast.store.connection import Session
from holdfast.store.guards import guards, released_guards
from holdfast.store.migrate import schema_state

SLICE = 5000  # jobs: a few tenths of a second
EVENTS = 20_000
SAMPLE = 200  # jobs in each place that a sample looks at, and runs of each schedule
SCHEDULES = 100  # at once, and in a sample at most
RUNS = 5000


@dataclass(slots=True)
class Audit:
    """One walk through a database. It writes nothing, and may be ended at any finding."""

    session: Session
    sample: int | None = None
    job: UUID | None = None
    at_rest: bool = False
    jobs: int = field(default=0, init=False)
    slices: int = field(default=0, init=False)
    _sums: Sums = field(default_factory=Sums, init=False)

    def findings(self) -> Iterator[Finding]:
        """Give what is wrong, as it is found; nothing when all is well."""
        for within in self._ranges():
            yield from self._look_at(within)
        if self.job is None:
            yield from self._guards()
            yield from self._server()
            yield from self._schedules()
        if self.job is None and self.sample is None:
            yield from self._ask(audit.about_no_job())
            yield from self._feed()
            yield from self._figures()

    def _look_at(self, within: Range) -> Iterator[Finding]:
        calls = [*audit.about_jobs(within), audit.told(within)]
        if self.at_rest:
            calls += audit.at_rest(within)
        jobs, used, *found = audit.look(
            self.session, [audit.count_of(within), audit.reckoned(within), *calls]
        )
        self.jobs += jobs
        self.slices += 1
        self._sums.add(used)
        for findings in found:
            yield from findings

    def _guards(self) -> Iterator[Finding]:
        by_rule, refused, state, found = audit.look(
            self.session, [audit.guards_by_rule(), audit.refusals(), schema_state(), guards()]
        )
        yield from by_rule
        yield from refused
        yield from judge_schema(state.problem())
        if state.is_current:
            yield from judge_guards(released_guards(), found)

    def _server(self) -> Iterator[Finding]:
        hygiene, storage, notifications = audit.look_at_server(
            self.session, [audit.hygiene(at_rest=self.at_rest), overview.storage(), overview.notify_usage()]
        )
        yield from hygiene
        yield from judge_server(storage, notifications)

    def _schedules(self) -> Iterator[Finding]:
        """Walk along the times of schedules, many at once, each as far as it has runs; a sample looks at the newest of some."""
        some = (None, None) if self.sample is None else (SCHEDULES, SAMPLE)
        known: list[Timetable] = self._one(audit.timetables(*some))
        for first in range(0, len(known), SCHEDULES):
            ahead = [(each, each.counted_from) for each in known[first : first + SCHEDULES]]
            for each, _ in ahead:
                yield from each.look_ahead()
            while ahead:
                pages = audit.look(self.session, [audit.runs_of(each.name, at, RUNS) for each, at in ahead])
                walked = [(each, at, page) for (each, at), page in zip(ahead, pages, strict=True)]
                for each, at, page in walked:
                    yield from each.look(at, _reaches(each, page), page)
                ahead = [(each, _reaches(each, page)) for each, _, page in walked if len(page) == RUNS]

    def _feed(self) -> Iterator[Finding]:
        """Walk along the feed, each slice beginning with the last event of the one before."""
        place: Place | None = audit.BEGINNING
        while place is not None:
            following = self._one(audit.feed_slice(place, EVENTS))
            yield from self._ask([audit.feed(place, following)])
            place = following

    def _figures(self) -> Iterator[Finding]:
        """Compare figures with the history. They are read after it: what was projected meanwhile makes them larger, never smaller."""
        kept = Sums()
        ever, used, minutes, since = audit.look(
            self.session, [audit.jobs_ever(), audit.usage(), audit.minutes(), audit.first_day_of_minutes()]
        )
        kept.add(used)
        exact = self.at_rest and ever == self.jobs  # else retention has taken jobs, and their figures stay
        yield from self._sums.against_usage(kept, exact=exact)
        yield from self._sums.against_minutes(minutes, since, exact=exact)
        yield from self._ask([audit.tally(exact=exact)])

    def _ask(self, calls: Sequence[Call[list[Finding]]]) -> Iterator[Finding]:
        for findings in audit.look(self.session, list(calls)):
            yield from findings

    def _ranges(self) -> Iterator[Range]:
        if self.job is not None:
            yield Range(self.job, self.job)
        elif self.sample is not None:
            yield from self._sampled(self.sample)
        else:
            yield from self._whole()

    def _whole(self) -> Iterator[Range]:
        """Cut all ids into slices that have about as many jobs; what has no job any more lies in one of them too."""
        first: UUID | None = EVERYTHING.first
        while first is not None:
            following = self._one(audit.slice_after(first, SLICE))
            yield Range(first, _before(following) if following is not None else EVERYTHING.last)
            first = following

    def _sampled(self, jobs: int) -> Iterator[Range]:
        """Look at the newest jobs, and at some from moments that chance chooses. Ids are times: no table is read to find them."""
        ends = self._one(audit.oldest_and_newest())
        if ends is None:
            return
        places = -(-jobs // SAMPLE)
        each = -(-jobs // places)
        newest = self._one(audit.newest_slice(each))
        yield Range(newest or EVERYTHING.first, EVERYTHING.last)
        oldest, latest = ends
        for _ in range(places - 1):
            first = UUID(int=oldest.int + int(chance.share() * (latest.int - oldest.int)))
            following = self._one(audit.slice_after(first, each))
            yield Range(first, _before(following) if following is not None else EVERYTHING.last)

    def _one(self, call: Call[Any]) -> Any:
        (answer,) = audit.look(self.session, [call])
        return answer


def _reaches(schedule: Timetable, page: Sequence[Ran]) -> datetime:
    """Say how far a page of runs goes: to the last of them, or to the end when there are no more."""
    return max(run.last_slot for run in page) if len(page) == RUNS else schedule.settled_to


def _before(id_: UUID) -> UUID:
    return UUID(int=id_.int - 1)
