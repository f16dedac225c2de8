"""A run that reports, and at the same moment another report, a cancel, a sweep or a reader: exactly one ends the job."""

from collections.abc import Iterator

import pytest

from holdfast.testing import TestServer
from sql.racing import CANCELS, TRIES, Side, claim_many, copy_of, prepared, race
from sql.support import Machine


def reports(action: str) -> Side:
    return Side(
        f"select holdfast.callback(e.job_id, e.attempt, e.claim_id, 'ci', {action}, gen_random_uuid()::text, sha256('body'), '{{}}')"
    )


COMPLETES, FAILS = reports("'completed'"), reports("'failed'")
# Of one job that it has completed, of the next that it has failed.
ENDS = reports("case mod(e.nth, 2) when 0 then 'completed' else 'failed' end")
# The executor was called an hour ago, and nobody has heard of the run since.
SILENCE = """
    perform holdfast.dispatch_sent(e.dispatch_id, null, null);
    update holdfast.dispatch d set sent_at = d.sent_at - interval '1 hour' where d.id = e.dispatch_id and d.state = 'sent'"""
SWEEPS = Side("select s.overdue::text from holdfast.sweep() as s", before=SILENCE)
READS = Side("select o.status::text from holdfast.job_outcome(e.job_id) as o", before=SILENCE)


def hand_over(machine: Machine) -> None:
    """Hand many jobs over to an executor that is being called."""
    claim_many(machine)
    machine.rows(
        "select holdfast.hand_over(j.id, 1, j.claim_id, 'ci', '{}', 600, 900, 0, null) from holdfast.job j"
    )
    machine.rows("select * from holdfast.take_dispatches(gen_random_uuid(), '{ci}', %s, 3600)", TRIES)


@pytest.fixture(scope="module")
def all_handed_over(holdfast_server: TestServer) -> Iterator[str]:
    with prepared(holdfast_server, hand_over) as url:
        yield url


@pytest.fixture
def runs(all_handed_over: str) -> Iterator[str]:
    """Give a database with a thousand jobs in the hands of an executor."""
    with copy_of(all_handed_over) as url:
        yield url


def test_of_two_reports_exactly_one_counts(runs: str) -> None:
    told = race(runs, COMPLETES, FAILS)

    assert told.total() == TRIES
    told.must_be({("ok", "already_over", "COMPLETED"), ("already_over", "ok", "FAILED")})


def test_of_a_report_and_a_cancel_exactly_one_counts(runs: str) -> None:
    told = race(runs, ENDS, CANCELS)

    assert told.total() == TRIES
    told.must_be(
        {
            ("ok", "HF001", "COMPLETED"),
            ("ok", "HF001", "FAILED"),
            ("already_over", "CANCELLED", "CANCELLED"),
        }
    )


def test_of_a_report_and_a_sweep_that_finds_the_run_silent_exactly_one_counts(runs: str) -> None:
    told = race(runs, ENDS, SWEEPS)

    assert told.total() == TRIES
    told.must_be({("ok", "0", "COMPLETED"), ("ok", "0", "FAILED"), ("already_over", "1", "FAILED")})


def test_of_a_report_and_a_reader_who_finds_the_run_silent_exactly_one_counts(runs: str) -> None:
    told = race(runs, ENDS, READS)

    # A reader waits for nobody: a report that is being written is not seen yet.
    unseen = frozenset({("ok", "RUNNING", "COMPLETED"), ("ok", "RUNNING", "FAILED")})
    assert told.total() == TRIES
    told.must_be(
        {
            ("ok", "COMPLETED", "COMPLETED"),
            ("ok", "FAILED", "FAILED"),
            ("already_over", "FAILED", "FAILED"),
        },
        perhaps=unseen,
    )
