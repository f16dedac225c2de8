"""The auditor's reads: ranges of jobs with all that belongs to them, each in one snapshot, and what is about no job."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import psycopg
from psycopg import IsolationLevel

from holdfast.domain.audit import EDGES, SECRET_PATTERN, AuditUnfinished, Finding
from holdfast.domain.audit_sums import Amounts
from holdfast.domain.audit_times import Ran, Timetable
from holdfast.domain.errors import BadInput, DatabaseUnavailable, NotAllowed, SchemaMismatch
from holdfast.domain.heads import Head
from holdfast.store.call import Call, Row, nothing, query, single, statement
from holdfast.store.connection import Session

_ABOUT_JOBS = (
    "audit_moves",
    "audit_conservation",
    "audit_effects",
    "audit_approvals",
    "audit_callbacks",
    "audit_webhooks",
    "audit_references",
    "audit_schedules",
)
_ABOUT_NO_JOB = ("audit_deliveries", "audit_slots", "audit_channels", "audit_timings")
STATEMENT_SECONDS = 60.0
IDLE_SECONDS = 5.0
_CANCELLED = "57014"


class Range(NamedTuple):
    """Jobs from one id to another, both included."""

    first: UUID
    last: UUID


class Sight(NamedTuple):
    """What this login and this server let an auditor see."""

    other_sessions: bool
    checksums: bool


class Place(NamedTuple):
    """A place in the feed."""

    channel: str
    id: int


Used: TypeAlias = tuple[date, str | None, str, Amounts]
BEGINNING = Place("", 0)
EVERYTHING = Range(UUID(int=0), UUID(int=2**128 - 1))


def about_jobs(within: Range) -> list[Call[list[Finding]]]:
    """Look at jobs and their histories for what never holds, whatever goes on."""
    return [_findings(name, within) for name in _ABOUT_JOBS]


def chain(within: Range) -> Call[list[Finding]]:
    """Compute the chains of these jobs' histories anew, and compare them with the heads on their rows."""
    return _findings("audit_chain", within)


def unchained(within: Range) -> Call[int]:
    """Count the jobs that have no chain."""
    return query("audit_unchained", single, first=within.first, last=within.last)


def heads(within: Range) -> Call[list[Head]]:
    """Compute the heads of these jobs' histories."""
    return query(
        "audit_heads", lambda rows: [Head(*row) for row in rows], first=within.first, last=within.last
    )


def against(kept: Sequence[Head]) -> Call[list[Finding]]:
    """Compare histories with heads that were kept of them."""
    jobs, seqs, digests = zip(*kept, strict=True)
    return query("audit_kept_heads", _read, jobs=list(jobs), seqs=list(seqs), heads=list(digests))


def gone(kept: Sequence[Head]) -> Call[list[UUID]]:
    """Find the jobs that are not there any more."""
    return query("audit_gone", lambda rows: [job for (job,) in rows], jobs=[head.job_id for head in kept])


def at_rest(within: Range) -> list[Call[list[Finding]]]:
    """Look at jobs for what holds once nobody works any more."""
    return [_findings("audit_at_rest", within)]


def about_no_job() -> list[Call[list[Finding]]]:
    """Look at what has no job of its own: deliveries, schedules, channels, minutes."""
    return [query(name, _read) for name in _ABOUT_NO_JOB]


def timetables(schedules: int | None = None, newest: int | None = None) -> Call[list[Timetable]]:
    """List schedules with what of their times can be compared: all of it, or of some the newest runs."""
    return query(
        "audit_timetables", lambda rows: [Timetable(*row) for row in rows], schedules=schedules, newest=newest
    )


def runs_of(schedule: str, after: datetime, runs: int) -> Call[list[Ran]]:
    """Read what became of a schedule's times behind a moment."""
    return query(
        "audit_runs", lambda rows: [Ran(*row) for row in rows], schedule=schedule, after=after, runs=runs
    )


def guards_by_rule() -> Call[list[Finding]]:
    """Look at what must be so of triggers, functions, rights and row security, whatever the release."""
    return statement("audit_guards", _read)


def hygiene(*, at_rest: bool, idle: float = IDLE_SECONDS) -> Call[list[Finding]]:
    """Look at what is left behind on the server, as far as this login may see."""
    return statement("audit_hygiene", _read, at_rest=at_rest, idle=idle)


def sight() -> Call[Sight]:
    """Ask what can be seen of the server."""
    return statement("audit_sight", lambda rows: Sight(*rows[0]))


def is_projected_here() -> Call[bool]:
    """Ask whether what was projected was projected by this server; of what another one did nothing can be compared."""
    return query("audit_projected_here", lambda rows: bool(rows and rows[0][0]))


def refusals() -> Call[list[Finding]]:
    """Look whether a guard ever had to refuse what no function asks for."""
    return query("audit_refusals", _read)


def told(within: Range) -> Call[list[Finding]]:
    """Look whether the feed has what it should of these jobs."""
    return _findings("audit_told", within)


def feed_slice(place: Place, events: int) -> Call[Place | None]:
    """Find the event so many behind a place in the feed; None when there are not so many."""
    return query(
        "audit_feed_slice",
        lambda rows: Place(*rows[0]) if rows else None,
        from_channel=place.channel,
        from_id=place.id,
        events=events,
    )


def feed(first: Place, last: Place | None, most: int | None = None) -> Call[list[Finding]]:
    """Look at events from one place in the feed to another, or to its end, and at no more than these."""
    channel, id_ = last or (None, None)
    return query(
        "audit_feed",
        _read,
        from_channel=first.channel,
        from_id=first.id,
        to_channel=channel,
        to_id=id_,
        most=most,
    )


def tally(*, exact: bool) -> Call[list[Finding]]:
    """Look whether counts by status are those of the jobs; of ended jobs too where none was ever removed."""
    return query("audit_tally", _read, exact=exact)


def reckoned(within: Range) -> Call[list[Used]]:
    """Add up what the history of these jobs says of usage, as far as it was projected."""
    return query("audit_reckoned", _read_used, first=within.first, last=within.last)


def usage() -> Call[list[Used]]:
    """Read all of usage."""
    return query("audit_usage", _read_used)


def minutes() -> Call[dict[tuple[date, str], Amounts]]:
    """Add up the statistics by day and task."""
    return query("audit_minutes", lambda rows: {(day, task): tuple(rest) for day, task, *rest in rows})


def first_day_of_minutes() -> Call[date]:
    """Find the first day of which all statistics are kept."""
    return query("audit_first_day", single)


def jobs_ever() -> Call[int]:
    """Count the jobs that there have ever been, as far as they were projected."""
    return query("audit_jobs_ever", single)


def _read_used(rows: list[Row]) -> list[Used]:
    return [(day, tenant, task, tuple(amounts)) for day, tenant, task, *amounts in rows]


def _findings(name: str, within: Range) -> Call[list[Finding]]:
    return query(name, _read, first=within.first, last=within.last, legal=list(EDGES), secret=SECRET_PATTERN)


def _read(rows: list[Row]) -> list[Finding]:
    return [Finding(*row) for row in rows]


def slice_after(first: UUID, jobs: int) -> Call[UUID | None]:
    """Find the job so many behind an id; None when there are not so many."""
    return query("audit_slice", _one_or_none, first=first, jobs=jobs)


def newest_slice(jobs: int) -> Call[UUID | None]:
    """Find the job that so many are newer than, or the oldest there is."""
    return query("audit_newest", _one_or_none, jobs=jobs)


def oldest_and_newest() -> Call[tuple[UUID, UUID] | None]:
    """Find the first and the last id that a job has."""
    return query("audit_ends", lambda rows: None if rows[0][0] is None else (rows[0][0], rows[0][1]))


def count_of(within: Range) -> Call[int]:
    """Count the jobs of a range."""
    return query("audit_count", single, first=within.first, last=within.last)


def _one_or_none(rows: list[Row]) -> UUID | None:
    return rows[0][0] if rows else None


def bounds(seconds: float = STATEMENT_SECONDS) -> Call[None]:
    """Say for the transaction how long a statement may take, and how definitions are written."""
    return statement("audit_bounds", nothing, milliseconds=f"{seconds * 1000:.0f}")


def look(
    session: Session, part: str, calls: list[Call[Any]], seconds: float = STATEMENT_SECONDS
) -> list[Any]:
    """Ask all of it of one snapshot, which is let go at once; nothing can be written in it, and no statement takes for ever.

    The part of the audit that they are is for the error that says it was not finished.
    """
    return _look(session, part, [bounds(seconds), statement("enter_all", nothing)], calls, seconds)


def look_at_server(
    session: Session, part: str, calls: list[Call[Any]], seconds: float = STATEMENT_SECONDS
) -> list[Any]:
    """Ask in the same way as who logged in: the role that sees every tenant's rows does not see other logins' sessions."""
    return _look(session, part, [bounds(seconds)], calls, seconds)


def _look(
    session: Session, part: str, before: list[Call[Any]], calls: list[Call[Any]], seconds: float
) -> list[Any]:
    connection = session.connection()
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    with _finished(part, seconds):
        asked = session.perform_together([*before, *calls], seconds * (len(calls) + 1))
    return asked[len(before) :]


@contextmanager
def _finished(part: str, seconds: float) -> Iterator[None]:
    """Say which part was not, and what to do: neither its bound nor what is broken in it is a database that cannot be reached."""
    try:
        yield
    except DatabaseUnavailable as error:
        if getattr(error.__cause__, "sqlstate", None) != _CANCELLED:
            raise
        why = (
            f"a statement took longer than {seconds:g} s, or somebody cancelled it; look at fewer jobs (--sample 2000), "
            "give statements more time (--timeout 600), or come back when the server has less to do"
        )
        raise AuditUnfinished(part, why) from error
    except (NotAllowed, SchemaMismatch) as error:
        raise AuditUnfinished(part, str(error)) from error
    except (BadInput, psycopg.Error) as error:
        raise AuditUnfinished(part, _said(error)) from error


def _said(error: Exception) -> str:
    """Give the server's sentence; what else it says may have a row's contents."""
    driver = error if isinstance(error, psycopg.Error) else error.__cause__
    diag = getattr(driver, "diag", None)
    return (diag and diag.message_primary) or type(driver).__name__
