"""What must hold of every job and its history, whatever happened to workers, connections and servers: asked of the product's own auditor."""

import re
from typing import Any, TypeAlias

import psycopg

from holdfast.domain.audit_guards import judge_guards
from holdfast.domain.audit_sums import Sums
from holdfast.store import audit
from holdfast.store.call import perform_sync
from holdfast.store.guards import guards, released_guards

# A code, what is done, the SQL that does it, and what the auditor says of it, once or more: an ellipsis stands for what is
# another word each time.
Seeded: TypeAlias = tuple[str, ...]
_ABOUT_NO_JOB = ("B06", "G05", "G06", "G07")


def broken_rules(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List what is wrong; empty when nothing is."""
    asked = [*audit.about_jobs(audit.EVERYTHING), audit.chain(audit.EVERYTHING), *audit.about_no_job()]
    return _told(connection, [*asked, audit.refusals()]) + left_out(connection)


def left_out(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List times of schedules of which nobody knows what became."""
    found = []
    for each in perform_sync(connection, audit.timetables()):
        runs = perform_sync(connection, audit.runs_of(each.name, each.counted_from, 10**9))
        found += [*each.look(each.counted_from, each.settled_to, runs), *each.look_ahead()]
    return [(f"{each.code} {each.what}", each.job_id) for each in found]


def left_at_rest(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List what is stranded, overdue or in the wrong hands; empty when nothing is, once nobody works any more."""
    return _told(connection, audit.at_rest(audit.EVERYTHING))


def broken_guards(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List guards that are not as released, within a transaction."""
    perform_sync(connection, audit.bounds())
    found = perform_sync(connection, guards())
    compared = judge_guards(released_guards(), found)
    return [(f"{each.code} {each.what}", None) for each in compared] + _told(
        connection, [audit.guards_by_rule()]
    )


def left_on_server(connection: psycopg.Connection[Any]) -> list[tuple[str, Any]]:
    """List what somebody has left open on the server, however short a time ago."""
    return _told(connection, [audit.hygiene(at_rest=True, idle=0.0)])


def _told(connection: psycopg.Connection[Any], calls: list[Any]) -> list[tuple[str, Any]]:
    connection.execute(
        "set jit = off"
    )  # compiling takes a hundred times as long as looking at a test's few jobs
    return [
        (f"{finding.code} {finding.what}", finding.job_id)
        for call in calls
        for finding in perform_sync(connection, call)
    ]


def broken_projections(connection: psycopg.Connection[Any], *, exact: bool = True) -> list[Any]:
    """List where feed, statistics or usage say something else than the history; empty when all of it is projected, once.

    Where retention has taken history, not exact: they say at least what is there.
    """
    connection.execute("set jit = off")
    if connection.execute("select holdfast.has_unprojected()").fetchone() != (False,):
        return [("not all of it is projected", None)]
    reckoned, kept = Sums(), Sums()
    used = perform_sync(connection, audit.reckoned(audit.EVERYTHING))
    reckoned.add(used)
    used = perform_sync(connection, audit.usage())
    kept.add(used)
    minutes = perform_sync(connection, audit.minutes())
    since = perform_sync(connection, audit.first_day_of_minutes())
    found = [
        *reckoned.against_usage(kept, exact=exact),
        *reckoned.against_minutes(minutes, since, exact=exact),
    ]
    told = [
        audit.tally(exact=exact),
        audit.told(audit.EVERYTHING),
        audit.feed(audit.BEGINNING, None),
        *audit.about_no_job(),
    ]
    return [(f"{each.code} {each.what}", each.job_id) for each in found] + _told(connection, told)


def codes(found: list[tuple[str, Any]]) -> set[str]:
    """Name the rules that were found broken."""
    assert not [said for said, _ in found if "%" in said]  # all of it is filled in
    return {said.split()[0] for said, _ in found}


def named(seeded: Seeded) -> str:
    """Name a corruption."""
    return f"{seeded[0]} {seeded[1]}"


def pattern(said: str) -> re.Pattern[str]:
    """Read an ellipsis as any words."""
    return re.compile(".*".join(re.escape(part) for part in said.split("…")), re.DOTALL)


def assert_said(seeded: Seeded, found: list[tuple[str, Any]], jobs: set[Any] | None = None) -> None:
    """Say that the auditor says each of what it should, and of one of the jobs that it was done to."""
    code, _, _, *expected = seeded
    assert code in codes(found)
    for said in expected:
        words = pattern(f"{code} {said}")
        about = {job for each, job in found if words.fullmatch(each)}
        assert about, (said, found)
        assert not jobs or code in _ABOUT_NO_JOB or about & jobs, (said, found)
