"""The audit: slice by slice through the jobs, each slice in a snapshot of its own, and then all that is about no job."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from holdfast.domain.audit import Finding, NotChecked
from holdfast.domain.audit_guards import judge_guards, judge_schema, judge_server, keeps_apart
from holdfast.domain.audit_sums import Sums
from holdfast.domain.audit_times import Ran, Timetable
from holdfast.domain.errors import JobNotFound
from holdfast.domain.heads import Head
from holdfast.interfaces.kept_heads import KeptHeads
from holdfast.runtime import chance
from holdfast.store import audit, overview
from holdfast.store.audit import EVERYTHING, STATEMENT_SECONDS, Place, Range
from holdfast.store.call import Call
from holdfast.store.connection import Session
from holdfast.store.guards import guards, released_guards
from holdfast.store.migrate import schema_state

SLICE = 5000  # jobs: a few tenths of a second
EVENTS = 20_000
SAMPLE = 200  # jobs in each place that a sample looks at, and runs of each schedule
SCHEDULES = 100  # at once, and in a sample at most
RUNS = 5000
# What parts of the audit are called where one was not finished.
_IDS = "the ids of jobs"
_SCHEDULES = "schedules (F04)"
_FIGURES = "figures (B06, G05, G06)"


@dataclass(slots=True)
class Audit:
    """One walk through a database. It writes nothing, and may be ended at any finding."""

    session: Session
    sample: int | None = None
    job: UUID | None = None
    at_rest: bool = False
    chains: bool = False  # compute each history's chain anew
    keep: Callable[[Head], None] | None = None  # what is done with the chains' heads
    kept: KeptHeads | None = None  # what they were
    seconds: float = STATEMENT_SECONDS
    jobs: int = field(default=0, init=False)
    slices: int = field(default=0, init=False)
    not_checked: list[NotChecked] = field(default_factory=list, init=False)
    _sums: Sums = field(default_factory=Sums, init=False)
    _is_projected_here: bool = field(default=True, init=False)
    _unchained: int = field(default=0, init=False)
    _gone: int = field(default=0, init=False)  # heads that were kept of jobs that are not there
    _is_of_its_age: bool = field(default=True, init=False)  # the database has what this release would install

    def findings(self) -> Iterator[Finding]:
        """Give what is wrong, as it is found; nothing when all is well. What was not looked at is said in not_checked."""
        self._say_what_was_not_asked_for()
        yield from self._age()
        self._look_whose_figures()
        found = 0
        for within in self._ranges():
            for finding in self._look_at(within):
                found += 1
                yield finding
            yield from self._look_at_chains(within)
        if self._unchained:
            self._leave_out(
                ("H07",), f"{self._unchained:,} jobs have not moved since there are chains, and have none"
            )
        if self.kept is not None:
            yield from self._compare(self.kept)
        if self.job is not None:
            if not (self.jobs or found):  # what is left of a job that is gone would have been found
                raise JobNotFound(f"no job has the id {self.job}{self._of_what_was_kept()}")
            return
        yield from self._guards()
        yield from self._server()
        yield from self._schedules()
        if self.sample is None:
            yield from self._ask(
                "deliveries, schedules, channels, minutes and histograms (E03, F04, G04, G06, G07)",
                audit.about_no_job(),
            )
            yield from self._feed()
            yield from self._figures()

    def _say_what_was_not_asked_for(self) -> None:
        if not self.at_rest:
            of_server = ("I01", "I03") if self.job is None else ()
            self._leave_out(
                ("A12", "A14", "F06", *of_server),
                "they hold once no worker runs: stop them, and say --at-rest",
            )
        if not self.chains:
            self._leave_out(("H07",), "chains were not computed anew: --chain")
        if self.sample is not None:
            self._leave_out(
                ("B06", "G02", "G03", "G04", "G05", "G06", "G07"),
                "a sample looks at neither feed nor figures, and at deliveries (E03) and schedules (F04) only in part",
            )

    def _age(self) -> Iterator[Finding]:
        """Compare database and release first: it says why what follows may ask for what is not there."""
        state = self._one("what is installed (H10)", schema_state())
        self._is_of_its_age = state.is_current
        yield from judge_schema(state.problem())

    def _look_whose_figures(self) -> None:
        self._is_projected_here = self._one("the projection", audit.is_projected_here())
        if not self._is_projected_here:
            compared = ("B06", "G01", "G05", "G06") if self.job is None and self.sample is None else ("G01",)
            self._leave_out(
                compared,
                "another server projected feed and figures (this is a restored copy), or this login may not ask which server this is "
                "(pg_control_system): start a worker, which takes them over, and audit again",
            )

    def _look_at(self, within: Range) -> Iterator[Finding]:
        calls = [*audit.about_jobs(within), audit.told(within)]
        if self.at_rest:
            calls += audit.at_rest(within)
        part = self._named(within)
        jobs, used, *found = self._look(part, [audit.count_of(within), audit.reckoned(within), *calls])
        self.jobs += jobs
        self.slices += 1
        self._sums.add(used)
        for findings in found:
            yield from findings

    def _look_at_chains(self, within: Range) -> Iterator[Finding]:
        if not self.chains:
            return
        calls: list[Call[Any]] = [audit.unchained(within), audit.chain(within)]
        if self.keep is not None:
            calls.append(audit.heads(within))  # of the same snapshot: what is kept is what was looked at
        unchained, findings, *heads = self._look(f"chains of {self._named(within)}", calls)
        self._unchained += unchained
        yield from findings
        if self.keep is not None:
            for head in heads[0]:
                self.keep(head)

    def _compare(self, kept: KeptHeads) -> Iterator[Finding]:
        """Compare with what was kept of all jobs, or of the one that is asked for."""
        heads = (head for head in kept if self.job in {None, head.job_id})
        compared, gone = 0, list[UUID]()
        while some := list(islice(heads, SLICE)):
            findings, missing = self._look(f"heads of {kept.path}", [audit.against(some), audit.gone(some)])
            compared += len(some)
            gone += missing
            yield from findings
        self._gone = len(gone)
        if gone:
            self._leave_out(
                ("H07",),
                f"of {compared:,} jobs in {kept.path} {len(gone):,} are not there any more, {gone[0]} first: retention or a delete took them, or somebody",
            )
        if self.job is not None and not compared:
            self._leave_out(("H07",), f"{kept.path} has no head of this job")

    def _of_what_was_kept(self) -> str:
        if self.kept is None or not self._gone:
            return ""
        return f" any more, and {self.kept.path} has its head: retention or a delete took it, or somebody"

    def _named(self, within: Range) -> str:
        return f"jobs from {within.first} to {within.last}" if self.job is None else f"job {self.job}"

    def _guards(self) -> Iterator[Finding]:
        by_rule, refused, found = self._look(
            "guards (H)", [audit.guards_by_rule(), audit.refusals(), guards()]
        )
        yield from by_rule
        yield from refused
        if self._is_of_its_age:
            yield from judge_guards(released_guards(), found)
        if not keeps_apart(found):
            self._leave_out(
                ("H05", "H06"),
                "one role owns everything here, so nobody who logs in as it is kept from anything; migrate once by a login that may create roles",
            )

    def _server(self) -> Iterator[Finding]:
        hygiene, storage, notifications, sight = audit.look_at_server(
            self.session, "the server (I)",
            [audit.hygiene(at_rest=self.at_rest), overview.storage(), overview.notify_usage(), audit.sight()], self.seconds,
        )  # fmt: skip
        yield from hygiene
        yield from judge_server(storage, notifications)
        if not sight.other_sessions:
            self._leave_out(
                ("I01", "I06") if self.at_rest else ("I06",),
                "sessions of other logins are hidden from this one: grant pg_read_all_stats to it",
            )
        if not sight.checksums:
            self._leave_out(
                ("I04",), "this server keeps no checksums: pg_checksums --enable, while it is stopped"
            )

    def _schedules(self) -> Iterator[Finding]:
        """Walk along the times of schedules, many at once, each as far as it has runs; a sample looks at the newest of some."""
        some = (None, None) if self.sample is None else (SCHEDULES, SAMPLE)
        known: list[Timetable] = self._one(_SCHEDULES, audit.timetables(*some))
        if beyond := [each.name for each in known if each.timing is None]:
            self._leave_out(
                ("F04",),
                f"this process cannot compute the times of {', '.join(beyond)}: run the audit where the workers run",
            )
        for first in range(0, len(known), SCHEDULES):
            ahead = [(each, each.counted_from) for each in known[first : first + SCHEDULES]]
            for each, _ in ahead:
                yield from each.look_ahead()
            while ahead:
                pages = self._look(_SCHEDULES, [audit.runs_of(each.name, at, RUNS) for each, at in ahead])
                walked = [(each, at, page) for (each, at), page in zip(ahead, pages, strict=True)]
                for each, at, page in walked:
                    yield from each.look(at, _reaches(each, page), page)
                ahead = [(each, _reaches(each, page)) for each, _, page in walked if len(page) == RUNS]

    def _feed(self) -> Iterator[Finding]:
        """Walk along the feed, each slice beginning with the last event of the one before."""
        place: Place | None = audit.BEGINNING
        while place is not None:
            behind = f"event {place.id} of channel {place.channel}" if place.channel else "its beginning"
            part = f"the feed from {behind} on"
            following = self._one(part, audit.feed_slice(place, EVENTS))
            # Who publishes meanwhile makes a slice longer, by no more than as much again.
            yield from self._ask(part, [audit.feed(place, following, 2 * EVENTS)])
            place = following

    def _figures(self) -> Iterator[Finding]:
        """Compare figures with the history. They are read after it: what was projected meanwhile makes them larger, never smaller."""
        if not self._is_projected_here:
            return
        kept = Sums()
        ever, used, minutes, since = self._look(
            _FIGURES, [audit.jobs_ever(), audit.usage(), audit.minutes(), audit.first_day_of_minutes()]
        )
        kept.add(used)
        exact = self.at_rest and ever == self.jobs  # else retention has taken jobs, and their figures stay
        if not exact:
            why = "jobs were removed, whose figures stay" if self.at_rest else "work goes on: --at-rest"
            self._leave_out(
                ("B06", "G05", "G06"),
                f"only what figures lack was looked for, not what they have too much, and ended jobs were not counted (B06): {why}",
            )
        yield from self._sums.against_usage(kept, exact=exact)
        yield from self._sums.against_minutes(minutes, since, exact=exact)
        yield from self._ask(_FIGURES, [audit.tally(exact=exact)])

    def _leave_out(self, codes: tuple[str, ...], why: str) -> None:
        self.not_checked.append(NotChecked(codes, why))

    def _ask(self, part: str, calls: Sequence[Call[list[Finding]]]) -> Iterator[Finding]:
        for findings in self._look(part, list(calls)):
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
            following = self._one(_IDS, audit.slice_after(first, SLICE))
            yield Range(first, _before(following) if following is not None else EVERYTHING.last)
            first = following

    def _sampled(self, jobs: int) -> Iterator[Range]:
        """Look at the newest jobs, and at some from moments that chance chooses. Ids are times: no table is read to find them."""
        ends = self._one(_IDS, audit.oldest_and_newest())
        if ends is None:
            return
        places = -(-jobs // SAMPLE)
        each = -(-jobs // places)
        newest = self._one(_IDS, audit.newest_slice(each))
        yield Range(newest or EVERYTHING.first, EVERYTHING.last)
        oldest, latest = ends
        for _ in range(places - 1):
            first = UUID(int=oldest.int + int(chance.share() * (latest.int - oldest.int)))
            following = self._one(_IDS, audit.slice_after(first, each))
            yield Range(first, _before(following) if following is not None else EVERYTHING.last)

    def _one(self, part: str, call: Call[Any]) -> Any:
        (answer,) = self._look(part, [call])
        return answer

    def _look(self, part: str, calls: list[Call[Any]]) -> list[Any]:
        return audit.look(self.session, part, calls, self.seconds)


def _reaches(schedule: Timetable, page: Sequence[Ran]) -> datetime:
    """Say how far a page of runs goes: to the last of them, or to the end when there are no more."""
    return max(run.last_slot for run in page) if len(page) == RUNS else schedule.settled_to


def _before(id_: UUID) -> UUID:
    return UUID(int=id_.int - 1)
