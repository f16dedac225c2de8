"""The auditor's own test: a past with everything in it passes, and whatever is corrupted in it is found.

Each corruption is written as the schema's owner can write it, past all guards, and taken back afterwards.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from guarantees.audit import broken_projections, broken_rules, codes, left_at_rest, left_on_server
from guarantees.conftest import Stage
from guarantees.past import Past
from guarantees.shop import fail_once, note
from holdfast import Holdfast
from holdfast.embedded import throwaway
from holdfast.interfaces.auditing import Audit
from holdfast.store.call import perform_sync
from holdfast.store.connection import Database, Session
from holdfast.store.metrics import refusals
from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import asked
from sql.support import machine_on, refused, until_somebody_waits

GUARDED = (
    "job", "job_history", "attempt", "step", "activity", "approval", "approver", "approval_decision", "feed", "schedule_run",
)  # fmt: skip

# Code, what is done, and the SQL that does it. Jobs are named as in Past.
CORRUPTIONS: list[tuple[str, str, str]] = [
    ("A01", "a status is written by hand", "update holdfast.job set status = 'COMPLETED', error = null where id = %(failed)s"),
    ("A01", "the newest history row goes", "delete from holdfast.job_history where job_id = %(done)s and seq = 3"),
    ("A01", "the whole history goes", "delete from holdfast.job_history where job_id = %(done)s"),
    ("A02", "a history row in the middle goes", "delete from holdfast.job_history where job_id = %(failed)s and seq = 3"),
    ("A02", "the birth goes", "delete from holdfast.job_history where job_id = %(done)s and seq = 1"),
    ("A03", "where a move began is rewritten", "update holdfast.job_history set from_status = 'RETRY' where job_id = %(done)s and seq = 2"),
    ("A04", "an illegal move is written", """
     update holdfast.job_history set to_status = 'RETRY' where job_id = %(done)s and seq = 1;
     update holdfast.job_history set from_status = 'RETRY', to_status = 'WAITING' where job_id = %(done)s and seq = 2"""),
    ("A05", "a terminal job is taken up again", """
     insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor)
     select id, 4, 'COMPLETED', 'RUNNING', 2, updated_at, 1, 'x' from holdfast.job where id = %(done)s"""),
    ("A06", "a birth is rewritten", "update holdfast.job_history set to_status = 'WAITING' where job_id = %(cancelled)s and seq = 1"),
    ("A07", "a job's seq is set back", "update holdfast.job set seq = 2 where id = %(done)s"),
    ("A08", "an attempt is counted that nobody claimed", "update holdfast.job_history set attempt = 2 where job_id = %(done)s and seq = 3"),
    ("A09", "a job's attempt is set back", "update holdfast.job set attempt = 0 where id = %(done)s"),
    ("A10", "a holder stays on a terminal job", "update holdfast.job set holder = %(worker)s where id = %(done)s"),
    ("A10", "a running job loses its holder", "update holdfast.job set holder = null where id = %(running)s"),
    ("A10", "a failed job loses its error", "update holdfast.job set error = null where id = %(failed)s"),
    ("A08", "an attempt is counted beyond all numbers", "update holdfast.job_history set attempt = 2147483647 where job_id = %(failed)s and seq = 3"),
    ("A10", "a failed job's error is rewritten", "update holdfast.job set error = '{\"type\": \"Boom\", \"message\": \"yes\"}' where id = %(failed)s"),
    ("A10", "a failed job's error is no object", "update holdfast.job set error = '1' where id = %(failed)s"),
    ("A11", "more retries are counted than allowed", "update holdfast.job set retry_count = 3 where id = %(failed)s"),
    ("A11", "a retry is counted that never was", "update holdfast.job set max_retries = max_retries + 1, retry_count = retry_count + 1 where id = %(done)s"),
    ("A11", "a retry was told otherwise", "update holdfast.job_history set metadata = '{\"retry_count\": \"no number\"}' where to_status = 'RETRY'"),
    ("A13", "a row is dated back", "update holdfast.job_history set at = at - interval '1 day' where job_id = %(done)s and seq = 2"),
    ("A13", "a row is of the future", "update holdfast.job_history set at = at + interval '1 day' where job_id = %(listening)s and seq = 3"),
    ("A13", "an end is dated back", "update holdfast.job set finished_at = finished_at - interval '1 hour' where id = %(done)s"),
    ("A13", "a row is of no time at all", "update holdfast.job_history set at = 'infinity' where job_id = %(done)s and seq = 3"),
    ("A13", "a start is dated back", "update holdfast.job set started_at = started_at - interval '1 hour' where id = %(done)s"),
    ("B04", "two jobs hold one key", """
     drop index holdfast.job_key;
     update holdfast.job set key = 'once', key_scope = 'ever', key_held = true where id = %(done)s"""),
    ("B05", "a job is deleted", "delete from holdfast.job where id = %(sleeping)s"),
    ("B07", "an ended job takes its key again", "update holdfast.job set key_held = true where id = %(failed)s"),
    ("B08", "a job is retried twice", """
     drop index holdfast.job_retried_once;
     update holdfast.job set retry_of = %(failed)s where id = %(scheduled)s"""),
    ("C02", "an attempt gets a second outcome", """
     update holdfast.job_history set attempt = 1 where job_id = %(failed)s and seq = 5"""),
    ("C03", "an attempt's outcome is rewritten", "update holdfast.attempt set outcome = 'failed' where job_id = %(done)s"),
    ("C03", "a running attempt gets an outcome", """
     insert into holdfast.attempt (job_id, attempt, worker, outcome) values (%(running)s, 1, 'w', 'completed')"""),
    ("C04", "a step is saved after its attempt ended", """
     update holdfast.step set finished_at = finished_at + interval '1 hour' where job_id = %(done)s"""),
    ("C04", "a zombie's checkpoint", "update holdfast.checkpoint set at = at + interval '1 hour' where job_id = %(done)s"),
    ("C04", "progress from before the claim", "update holdfast.progress set at = at - interval '1 hour' where job_id = %(done)s"),
    ("D01", "a job goes on without a decision", """
     update holdfast.approval set decision = null, decided_at = null, decided_by = null where id = %(gate of approved)s"""),
    ("D01", "a denial becomes an approval", "update holdfast.approval set decision = 'approved' where id = %(gate of denied)s"),
    ("D01", "a decision came too late", """
     update holdfast.approval set expires_at = decided_at - interval '1 minute' where id = %(gate of approved)s"""),
    ("D01", "another job's approval is borrowed", """
     update holdfast.job_history set metadata = jsonb_set(metadata, '{approval,id}', to_jsonb(%(gate of denied)s::text))
      where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'"""),
    ("D01", "a move names no approval", """
     update holdfast.job_history set metadata = '{"approval": {"id": "x"}}' where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'"""),
    ("D02", "a decision is written without its consequence", """
     update holdfast.approval set decision = 'denied', decided_at = asked_at, decided_by = 'ann' where id = %(gate of asking)s"""),
    ("D02", "a decided approval is open again", """
     update holdfast.approval set decision = null, decided_at = null, decided_by = null where id = %(gate of denied)s"""),
    ("D03", "a voice goes", "delete from holdfast.approval_decision where approval_id = %(gate of approved)s and who = 'bob'"),
    ("D03", "a voice comes after the decision", """
     insert into holdfast.approval_decision (approval_id, who, decision, how, at, bound_hash)
     select id, 'carl', 'approve', 'person', decided_at + interval '1 minute', bound_hash from holdfast.approval where id = %(gate of approved)s"""),
    ("D03", "a denial is not heeded", """
     update holdfast.approval_decision set decision = 'deny', reason = 'x' where approval_id = %(gate of approved)s and who = 'ann'"""),
    ("D04", "a token is in a history", """
     update holdfast.job_history set reason = 'used hfa_' || repeat('Aa0-_', 8) || 'xyz' where job_id = %(approved)s and seq = 4"""),
    ("D04", "a key is in what happened", """
     update holdfast.activity set data = data || jsonb_build_object('by', 'hfk_abcdefghijkl_' || repeat('x', 43)) where job_id = %(reported)s"""),
    ("D04", "an executor's secret is in a history", """
     update holdfast.job_history set reason = 'with hfx_' || repeat('0a', 32) where job_id = %(reported)s and seq = 2"""),
    ("D04", "a webhook's secret is in a history", """
     update holdfast.job_history set metadata = jsonb_build_object('key', 'whsec_' || repeat('Aa0+', 8)) where job_id = %(done)s and seq = 1"""),
    ("D04", "a session is in a history", "update holdfast.job_history set actor = 'hfs_' || repeat('x', 43) where job_id = %(done)s and seq = 1"),
    ("D05", "who asked decides", "update holdfast.approval set requester = 'Ann ' where id = %(gate of denied)s"),
    ("D05", "a stranger decides", "update holdfast.approval set approvers = '{bob,carl}' where id = %(gate of denied)s"),
    ("D06", "a payload is rewritten after the decision", "update holdfast.job set payload = '{\"user\": 2}' where id = %(approved)s"),
    ("D06", "a voice is about something else", "update holdfast.approval_decision set bound_hash = 'x' where who = 'bob'"),
    ("E01", "a callback counts for an attempt that did not end by it", """
     update holdfast.job_history set actor = 'w' where job_id = %(reported)s and to_status = 'COMPLETED'"""),
    ("E01", "a callback counts for nobody's run", "delete from holdfast.dispatch where job_id = %(reported)s"),
    ("E01", "a run has another claim", "update holdfast.dispatch set claim_id = gen_random_uuid() where job_id = %(outside)s"),
    ("E01", "a callback's attempt is no number", """
     update holdfast.activity set data = data || '{"attempt": "x"}' where job_id = %(reported)s and kind = 'callback.completed'"""),
    ("E02", "a run ends twice", """
     insert into holdfast.activity (job_id, at, xid, kind, actor, data)
     select job_id, at, xid, kind, actor, data from holdfast.activity where job_id = %(reported)s and kind = 'callback.completed'"""),
    ("E03", "a delivery goes, its job stays", "delete from holdfast.webhook_delivery"),
    ("E03", "an event is delivered twice", """
     alter table holdfast.webhook_delivery drop constraint webhook_event_is_handled_once;
     insert into holdfast.webhook_delivery (id, endpoint, event_id, type, status, body)
     values (holdfast.new_id(), 'stripe', 'evt_1', 'paid', 'ignored', '')"""),
    ("E04", "a callback counts after the end", """
     update holdfast.activity set at = at + interval '1 minute' where job_id = %(reported)s and kind = 'callback.started'"""),
    ("E04", "a callback is answered with ok after the end", """
     update holdfast.callback_nonce set at = at + interval '1 minute' where job_id = %(reported)s and answer = 'ok'"""),
    ("E05", "a run is over and holds the job", "update holdfast.dispatch set state = 'over' where job_id = %(outside)s"),
    ("E05", "a run of an ended job is still out", "update holdfast.dispatch set state = 'sent' where job_id = %(reported)s"),
    ("F01", "a step is of an attempt that was never made", "update holdfast.step set attempt = 9 where job_id = %(done)s"),
    ("F01", "a checkpoint is of an attempt that was never made", "update holdfast.checkpoint set attempt = 9 where job_id = %(done)s"),
    ("F02", "a retry is another tenant's", "update holdfast.job set tenant = 'globex' where id = %(retried)s"),
    ("F02", "a compensation is nobody's", "update holdfast.job set tenant = null where id = %(undo)s"),
    ("F02", "a delivery's job is another tenant's", "update holdfast.job set tenant = 'globex' where id = %(delivered)s"),
    ("F02", "an event of another tenant was taken", "update holdfast.event set tenant = 'globex'"),
    ("F03", "a job with steps goes", """
     delete from holdfast.job_history where job_id = %(done)s;
     delete from holdfast.job where id = %(done)s"""),
    ("F03", "an approval goes that a job waits for", """
     delete from holdfast.approval where id = %(gate of asking)s"""),
    ("F03", "a worker goes that holds a job", "delete from holdfast.worker where id = %(worker)s"),
    ("F03", "a step took no event that can be", "update holdfast.step set value = value || '{\"id\": \"x\"}' where kind = 'event'"),
    ("F04", "a job is of a time that is none", """
     update holdfast.job set metadata = metadata || '{"slot": "2026-02-30T25:61:00+00:00"}' where id = %(scheduled)s"""),
    ("F04", "a job is of a time that is no time", "update holdfast.job set metadata = metadata || '{\"slot\": \"soon\"}' where id = %(scheduled)s"),
    ("F04", "a run of a schedule goes", "delete from holdfast.schedule_run"),
    ("F04", "a schedule is set back", "update holdfast.schedule set settled_to = settled_to - interval '2 hours'"),
    ("F04", "a time that was passed over is forgotten", "delete from holdfast.schedule_run where schedule = 'late'"),
    ("F04", "a stretch of missed times is cut short", """
     update holdfast.schedule_run set last_slot = slot, times = 1 where schedule = 'nightly' and outcome = 'missed'"""),
    ("F04", "a time in the middle goes with its job's word for it", """
     update holdfast.job set requested_by = 'ann' where metadata ->> 'schedule' = 'owed';
     delete from holdfast.schedule_run r where r.slot = (select min(slot) + interval '40 minutes' from holdfast.schedule_run where schedule = 'owed')"""),
    ("F04", "a schedule is set forward", """
     update holdfast.schedule set settled_to = settled_to + interval '2 hours', next_at = null where name = 'late'"""),
    ("F04", "a schedule waits for ever", "update holdfast.schedule set next_at = 'infinity' where name = 'owed'"),
    ("F04", "a schedule is decided for ever", "update holdfast.schedule set settled_to = 'infinity', next_at = null where name = 'late'"),
    ("F04", "a run is of no time at all", """
     insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, actor) values ('late', 'infinity', 'infinity', 'missed', now(), 'x')"""),
    ("F04", "a time fires twice", """
     alter table holdfast.schedule_run drop constraint schedule_run_pkey;
     insert into holdfast.schedule_run select * from holdfast.schedule_run"""),
    ("F05", "an ended job keeps a slot", "insert into holdfast.slot (job_id, key, n) values (%(done)s, 'user:7', 1)"),
    ("F05", "a start is kept for a job that is not in line", "update holdfast.rate_slot set job_id = %(done)s"),
    ("F05", "a wait of a cancelled job stays", "insert into holdfast.wait (job_id, event) values (%(cancelled)s, 'paid')"),
    ("F05", "a compensation takes a slot", "insert into holdfast.slot (job_id, key, n) values (%(undo)s, 'user:8', 1)"),
    ("F07", "what did not fail is retried", "update holdfast.job set retry_of = %(done)s where id = %(scheduled)s"),
]  # fmt: skip

# What holds once nobody works any more.
UNREST: list[tuple[str, str, str]] = [
    ("A12", "a worker is silent", "update holdfast.worker set lease = interval '1 second', died_at = seen_at where id = %(worker)s"),
    ("A12", "a deadline has passed", "update holdfast.job set deadline_at = started_at - interval '1 hour' where id = %(running)s"),
    ("A14", "a listener's wait goes", "delete from holdfast.wait where job_id = %(listening)s"),
    ("A14", "a slot that somebody waits for goes", "delete from holdfast.slot where job_id = %(slotted)s"),
    ("A14", "a count of needed jobs is wrong", "update holdfast.wait set remaining = 2 where job_id = %(second)s"),
    ("A14", "a job in line is held back", "update holdfast.job set held_by = 'task:plain' where id = %(scheduled)s"),
    ("F06", "a running job loses its slot", "delete from holdfast.slot where job_id = %(slotted)s"),
]  # fmt: skip

# What people read, against the history it was projected from.
MISTOLD: list[tuple[str, str, str]] = [
    ("B06", "a count is written by hand", "update holdfast.tally set entered = entered + 1 where status = 'RUNNING'"),
    ("B06", "an ended job is not counted", "update holdfast.tally set entered = entered - 1 where status = 'COMPLETED' and task = 'plain'"),
    ("B06", "a job is put into another queue behind its counts", "update holdfast.job set queue = 'side' where id = %(sleeping)s"),
    ("B06", "a move between queues is of a status that is none", """
     update holdfast.job set ties = ties | 16 where id = %(sleeping)s;
     update holdfast.job_history set xid = 1e12 where job_id = %(sleeping)s and seq = 3;
     insert into holdfast.activity (job_id, at, xid, kind, actor, data)
     select id, updated_at, 1e12, 'job.moved', 'x', '{"from": "a", "to": "b", "status": "ASLEEP", "seq": "x"}'
       from holdfast.job where id = %(sleeping)s"""),
    ("B06", "a count is beyond all numbers", "update holdfast.tally set entered = 9223372036854775807, departed = -1 where status = 'RUNNING'"),
    ("G01", "an event goes", "delete from holdfast.feed where job_id = %(done)s and kind = 'job.started'"),
    ("G01", "an event is told twice", """
     insert into holdfast.feed select channel, 99, job_id, at, kind, data from holdfast.feed where job_id = %(done)s and kind = 'job.started'"""),
    ("G02", "an event says something else", "update holdfast.feed set data = data || '{\"status\": \"FAILED\"}' where job_id = %(done)s and kind = 'job.completed'"),
    ("G02", "an event tells of what never was", """
     insert into holdfast.feed select channel, 99, job_id, at, kind, data || '{\"seq\": 9}' from holdfast.feed where job_id = %(done)s and kind = 'job.started'"""),
    ("G02", "an event's row is no number", "update holdfast.feed set data = data || '{\"seq\": \"a\"}' where job_id = %(done)s and kind = 'job.started'"),
    ("G02", "an event's attempt is no number", "update holdfast.feed set data = data || '{\"attempt\": \"a\"}' where job_id = %(done)s and kind = 'job.started'"),
    ("G02", "a move is told under another kind", "update holdfast.feed set kind = 'progress' where job_id = %(done)s and kind = 'job.started'"),
    ("G02", "an event is in another subject's channel", "update holdfast.feed set channel = 'subject:org:else' where job_id = %(done)s"),
    ("G03", "events change places", """
     update holdfast.feed set id = id + 100 where job_id = %(done)s and kind = 'job.started'"""),
    ("G04", "a channel has given more ids than events", "update holdfast.channel set last_id = last_id + 3 where name = 'subject:org:done'"),
    ("G04", "a channel is forgotten, its events are not", "delete from holdfast.channel where name = 'subject:org:done'"),
    ("G04", "an event in the middle goes", "delete from holdfast.feed where job_id = %(done)s and kind = 'progress'"),
    ("G05", "usage is written down", "update holdfast.usage set completed = completed - 1 where task = 'plain'"),
    ("G05", "usage is written up", "update holdfast.usage set run_seconds = run_seconds + 1 where task = 'plain'"),
    ("G05", "usage is no number", "update holdfast.usage set run_seconds = 'NaN' where task = 'plain'"),
    ("G05", "usage is of no day", "update holdfast.usage set day = 'infinity' where task = 'undone'"),
    ("G05", "a move is of no time at all", "update holdfast.job_history set at = 'infinity' where job_id = %(done)s and seq = 3"),
    ("G05", "usage goes to another tenant", "update holdfast.usage set tenant = 'globex' where tenant = 'acme'"),
    ("G06", "a minute goes", "delete from holdfast.statistic where task = 'undone'"),
    ("G06", "a minute is of no time at all", """
     update holdfast.statistic set minute = 'infinity' where (minute, task) in (select min(minute), 'undone' from holdfast.statistic where task = 'undone')"""),
    ("G07", "a bucket is emptied", "update holdfast.timing set count = count + 1 where what = 'run'"),
    ("F02", "an event is told to another tenant", """
     insert into holdfast.feed select 'tenant:globex', 1, job_id, at, kind, data from holdfast.feed where job_id = %(done)s and kind = 'job.started'"""),
]  # fmt: skip


@pytest.fixture(scope="module")
def past(holdfast_server: TestServer) -> Iterator[Past]:
    with holdfast_server.database() as database, machine_on(database.owner_url) as machine:
        yield Past(machine)


def corrupt(past: Past, statements: str) -> None:
    for table in GUARDED:
        past.machine.run(f"alter table holdfast.{table} disable trigger user")
    for statement in statements.split(";\n"):
        past.machine.connection.execute(statement, {**past.ids, "worker": past.worker})


def test_a_past_with_everything_in_it_is_clean(past: Past) -> None:
    assert broken_rules(past.machine.connection) == []
    assert left_at_rest(past.machine.connection) == []
    assert broken_projections(past.machine.connection) == []


@pytest.mark.parametrize(
    ("code", "deed", "statements"), CORRUPTIONS, ids=[f"{code} {deed}" for code, deed, _ in CORRUPTIONS]
)
def test_every_corruption_is_found(past: Past, code: str, deed: str, statements: str) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, statements)

        found = broken_rules(past.machine.connection)

        assert code in codes(found), deed
        named = {job for said, job in found if said.split()[0] == code}
        meant = {past.ids[name] for name in re.findall(r"%\((\w+)\)s", statements) if name in past.ids}
        assert not meant or named & meant, (deed, found)


@pytest.mark.parametrize(
    ("code", "deed", "statements"), UNREST, ids=[f"{code} {deed}" for code, deed, _ in UNREST]
)
def test_what_does_not_come_to_rest_is_found(past: Past, code: str, deed: str, statements: str) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, statements)

        assert code in codes(left_at_rest(past.machine.connection)), deed


@pytest.mark.parametrize(
    ("code", "deed", "statements"), MISTOLD, ids=[f"{code} {deed}" for code, deed, _ in MISTOLD]
)
def test_what_is_told_otherwise_than_it_was_is_found(
    past: Past, code: str, deed: str, statements: str
) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, statements)

        assert code in codes(broken_projections(past.machine.connection)), deed


def test_a_session_that_forgot_its_transaction_and_one_that_waits_are_found(
    holdfast_db: ScratchDatabase,
) -> None:
    with (
        machine_on(holdfast_db.owner_url) as observer,
        machine_on(holdfast_db.owner_url) as forgetful,
        machine_on(holdfast_db.owner_url) as waiting,
        ThreadPoolExecutor(1) as thread,
    ):
        assert left_on_server(observer.connection) == []
        with forgetful.connection.transaction():
            forgetful.run("lock table holdfast.flag in access exclusive mode")
            waits = thread.submit(waiting.run, "select from holdfast.flag")
            until_somebody_waits(holdfast_db)

            found = codes(left_on_server(observer.connection))
        waits.result()

        assert found == {"I01", "I03"}


REFUSED = {
    "an illegal move": "update holdfast.job set status = 'COMPLETED' where status = 'PENDING'",
    "a claim without an id": "update holdfast.job set status = 'RUNNING', claim_order = null, holder = gen_random_uuid() where status = 'PENDING'",
    "a change of what has ended": "update holdfast.job set label = 'x' where status = 'CANCELLED'",
    "a counter": "update holdfast.job set attempt = 7 where status = 'PENDING'",
    "columns that do not fit": "update holdfast.job set status = 'CANCELLED', reason = 'x' where status = 'PENDING'",
    "a payload": "update holdfast.job set payload = '{\"n\": 2}' where status = 'PENDING'",
    "a birth": "insert into holdfast.job (id, task, payload, attempt, claim_order) values (holdfast.new_id(), 't', '{}', 1, now())",
    "an approval that nobody gave": "update holdfast.job set status = 'RUNNING', approval_id = null, holder = gen_random_uuid(), claim_id = gen_random_uuid() where status = 'WAITING_FOR_APPROVAL'",
    "history": "delete from holdfast.job_history",
    "a job that has not ended": "delete from holdfast.job where status = 'PENDING'",
}  # fmt: skip


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED)
def test_what_a_guard_refused_is_counted_and_found(holdfast_db: ScratchDatabase, attempt: str) -> None:
    with machine_on(holdfast_db.owner_url) as machine:
        machine.register()
        cancelled = machine.enqueue()
        machine.value("select holdfast.cancel(%s)", cancelled)
        asked(machine)
        machine.enqueue()
        assert codes(broken_rules(machine.connection)) == set()

        assert refused(machine, attempt) in {"HF001", "HF003"}

        assert codes(broken_rules(machine.connection)) == {"I05"}
        assert perform_sync(machine.connection, refusals()) == 1
        machine.run("alter sequence holdfast.refusal restart")
        assert codes(broken_rules(machine.connection)) == set()


def test_a_prepared_transaction_that_nobody_ended_is_found() -> None:
    with throwaway(settings={"max_prepared_transactions": "2"}) as server, machine_on(server.url) as machine:
        machine.run("begin")
        machine.run("create table t ()")
        machine.run("prepare transaction 'forgotten'")

        found = codes(left_on_server(machine.connection))
        machine.run("rollback prepared 'forgotten'")

        assert (found, left_on_server(machine.connection)) == ({"I02"}, [])


def test_an_audit_beside_a_busy_worker_finds_nothing(stage: Stage, shop: Holdfast) -> None:
    """Slices are read while jobs move: each sees jobs, histories and figures of one moment."""
    stage.worker(concurrency=20)
    session = Session(Database(stage.database.url, "test"), "holdfast audit")
    walks = 0
    try:
        while walks < 15 or stage.counts().get("COMPLETED", 0) < 300:
            shop.enqueue_many([note.using(subject="org:1", tenant="a").job(n) for n in range(20)])
            shop.enqueue_many([fail_once.using(subject="org:2").job() for _ in range(3)])
            assert list(Audit(session).findings()) == []
            walks += 1
    finally:
        session.close()
