"""The auditor's own test: a past with everything in it passes, and whatever is corrupted in it is found.

Each corruption is written as the schema's owner can write it, past all guards, and taken back afterwards.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from guarantees.audit import (
    Seeded,
    assert_said,
    broken_projections,
    broken_rules,
    codes,
    left_at_rest,
    left_on_server,
    named,
)
from guarantees.conftest import Stage
from guarantees.past import Past
from guarantees.shop import fail_once, note
from holdfast import Holdfast
from holdfast.embedded import throwaway
from holdfast.interfaces.auditing import Audit
from holdfast.store import audit
from holdfast.store.call import perform_sync
from holdfast.store.connection import Database, Session
from holdfast.store.databases import create_database
from holdfast.store.metrics import refusals
from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import asked
from sql.support import machine_on, refused, until_somebody_waits

GUARDED = (
    "job", "job_history", "attempt", "step", "activity", "approval", "approver", "approval_decision", "feed", "schedule_run",
)  # fmt: skip

OTHERWISE = "its history is not the one that its moves wrote: a row was changed, added or taken out, or the head of its chain was"
# Code, what is done, the SQL that does it, and what the auditor says then. Jobs are named as in Past.
CORRUPTIONS: list[Seeded] = [
    ("A01", "a status is written by hand", "update holdfast.job set status = 'COMPLETED', error = null where id = %(failed)s",
     "it is COMPLETED, and its newest history row says FAILED"),
    ("A01", "the newest history row goes", "delete from holdfast.job_history where job_id = %(done)s and seq = 3",
     "it is COMPLETED, and its newest history row says RUNNING"),
    ("A01", "the whole history goes", "delete from holdfast.job_history where job_id = %(done)s",
     "it is COMPLETED, and its newest history row says nothing"),
    ("A02", "a history row in the middle goes", "delete from holdfast.job_history where job_id = %(failed)s and seq = 3",
     "history row 4 is number 3 of those it has"),
    ("A02", "the birth goes", "delete from holdfast.job_history where job_id = %(done)s and seq = 1",
     "history row 2 is number 1 of those it has"),
    ("A03", "where a move began is rewritten", "update holdfast.job_history set from_status = 'RETRY' where job_id = %(done)s and seq = 2",
     "row 2 begins at RETRY, and the one before it ended at PENDING"),
    ("A04", "an illegal move is written", """
     update holdfast.job_history set to_status = 'RETRY' where job_id = %(done)s and seq = 1;
     update holdfast.job_history set from_status = 'RETRY', to_status = 'WAITING' where job_id = %(done)s and seq = 2""",
     "row 2 says that it went from RETRY to WAITING"),
    ("A05", "a terminal job is taken up again", """
     insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor)
     select id, 4, 'COMPLETED', 'RUNNING', 2, updated_at, 1, 'x' from holdfast.job where id = %(done)s""",
     "row 4 says that it went from COMPLETED to RUNNING"),
    ("A06", "a birth is rewritten", "update holdfast.job_history set to_status = 'WAITING' where job_id = %(cancelled)s and seq = 1",
     "it was born as WAITING, in attempt 0"),
    ("A06", "a birth comes after something", "update holdfast.job_history set from_status = 'RETRY' where job_id = %(cancelled)s and seq = 1",
     "it was born as PENDING after RETRY, in attempt 0"),
    ("A06", "a birth is of an attempt", "update holdfast.job_history set attempt = 1 where job_id = %(cancelled)s and seq = 1",
     "it was born as PENDING, in attempt 1"),
    ("A07", "a job's seq is set back", "update holdfast.job set seq = 2 where id = %(done)s",
     "its seq is 2, that of its newest history row 3"),
    ("A08", "an attempt is counted that nobody claimed", "update holdfast.job_history set attempt = 2 where job_id = %(done)s and seq = 3",
     "row 3 (COMPLETED) is of attempt 2, the one before it of attempt 1"),
    ("A09", "a job's attempt is set back", "update holdfast.job set attempt = 0 where id = %(done)s",
     "it counts 0 attempts, and was claimed 1 times"),
    ("A10", "a holder stays on a terminal job", "update holdfast.job set holder = %(worker)s where id = %(done)s",
     "it is COMPLETED, and yet: a job has a holder exactly while it is RUNNING"),
    ("A10", "a running job loses its holder", "update holdfast.job set holder = null where id = %(running)s",
     "it is RUNNING, and yet: a job has a holder exactly while it is RUNNING"),
    ("A10", "a failed job loses its error", "update holdfast.job set error = null where id = %(failed)s",
     "it is FAILED, and yet: FAILED needs an error"),
    ("A08", "an attempt is counted beyond all numbers", "update holdfast.job_history set attempt = 2147483647 where job_id = %(failed)s and seq = 3",
     "row 3 (RETRY) is of attempt 2147483647, the one before it of attempt 1"),
    ("A10", "a failed job's error is rewritten", "update holdfast.job set error = '{\"type\": \"Boom\", \"message\": \"yes\"}' where id = %(failed)s",
     "its error is not the one that its history tells"),
    ("A10", "a failed job's error is no object", "update holdfast.job set error = '1' where id = %(failed)s",
     "it is FAILED, and yet: an error is a JSON object"),
    ("A10", "a failure is told by no object", "update holdfast.job_history set metadata = '1' where job_id = %(failed)s and seq = 5",
     "its error is not the one that its history tells"),
    ("A11", "more retries are counted than allowed", "update holdfast.job set retry_count = 3 where id = %(failed)s",
     "it is FAILED, and yet: retry_count stays between 0 and max_retries", "it counts 3 retries, and its history 1"),
    ("A11", "a retry is counted that never was", "update holdfast.job set max_retries = max_retries + 1, retry_count = retry_count + 1 where id = %(done)s",
     "it counts 1 retries, and its history 0"),
    ("A11", "a retry was told otherwise", "update holdfast.job_history set metadata = '{\"retry_count\": \"no number\"}' where to_status = 'RETRY'",
     'it counts 1 retries, and its history "no number"'),
    ("A13", "a row is dated back", "update holdfast.job_history set at = at - interval '1 day' where job_id = %(done)s and seq = 2",
     "row 2 is older than the one before it, or of the future: …"),
    ("A13", "a row is of the future", "update holdfast.job_history set at = at + interval '1 day' where job_id = %(listening)s and seq = 3",
     "row 3 is older than the one before it, or of the future: …"),
    ("A13", "an end is dated back", "update holdfast.job set finished_at = finished_at - interval '1 hour' where id = %(done)s",
     "it finished at …, and its last move was at …"),
    ("A13", "a row is of no time at all", "update holdfast.job_history set at = 'infinity' where job_id = %(done)s and seq = 3",
     "row 3 is older than the one before it, or of the future: infinity"),
    ("A13", "a start is dated back", "update holdfast.job set started_at = started_at - interval '1 hour' where id = %(done)s",
     "it says that it was started at …, and it was claimed last at …"),
    ("H07", "who did it is rewritten", "update holdfast.job_history set actor = 'ann' where job_id = %(done)s and seq = 2",
     OTHERWISE),
    ("H07", "a reason is rewritten", "update holdfast.job_history set reason = 'as told' where job_id = %(cancelled)s and seq = 2",
     OTHERWISE),
    ("H07", "a reason is taken out", "update holdfast.job_history set reason = null where job_id = %(cancelled)s and seq = 2",
     OTHERWISE),
    ("H07", "what it waited is rewritten", "update holdfast.job_history set since = since - interval '1 second' where job_id = %(done)s and seq = 2",
     OTHERWISE),
    ("H07", "what it waited is made up", "update holdfast.job_history set since = '-infinity' where job_id = %(done)s and seq = 1",
     OTHERWISE),
    ("H07", "a birth is dated back a little", "update holdfast.job_history set at = at - interval '1 microsecond' where job_id = %(done)s and seq = 1",
     OTHERWISE),
    ("H07", "a row is of another transaction", "update holdfast.job_history set xid = xid - 1 where job_id = %(failed)s and seq = 3",
     OTHERWISE),
    ("H07", "what a retry tells is rewritten", "update holdfast.job_history set metadata = metadata || '{\"due_at\": null}' where job_id = %(failed)s and seq = 3",
     OTHERWISE),
    ("H07", "metadata is made up", "update holdfast.job_history set metadata = '{\"by\": \"ann\"}' where job_id = %(done)s and seq = 3",
     OTHERWISE),
    ("H07", "a word goes from the actor to the reason", """
     update holdfast.job_history set actor = left(actor, -1), reason = right(actor, 1) where job_id = %(done)s and seq = 3""",
     OTHERWISE),
    ("H07", "two jobs change histories, and heads", """
     update holdfast.job_history set seq = seq + 100 where job_id = %(done)s;
     update holdfast.job_history set job_id = %(done)s where job_id = %(kept)s;
     update holdfast.job_history set job_id = %(kept)s, seq = seq - 100 where job_id = %(done)s and seq > 100;
     update holdfast.job j set chain = o.chain
       from holdfast.job o where (j.id, o.id) in ((%(done)s, %(kept)s), (%(kept)s, %(done)s))""",
     OTHERWISE),
    ("H07", "a wait becomes a retry", """
     update holdfast.job_history set to_status = 'RETRY' where job_id = %(woken)s and seq = 3;
     update holdfast.job_history set from_status = 'RETRY' where job_id = %(woken)s and seq = 4""",
     OTHERWISE),
    ("H07", "the last row is taken out", "delete from holdfast.job_history where job_id = %(done)s and seq = 3",
     OTHERWISE),
    ("H07", "a head is rewritten", "update holdfast.job set chain = sha256(chain) where id = %(done)s",
     OTHERWISE),
    ("H07", "a chain is taken away", "update holdfast.job set chain = null where id = %(done)s",
     "its history has no chain, and is not from before there were any"),
    ("H07", "a chain is taken away, and since when there are any", """
     delete from holdfast.installed where what = 'chain';
     update holdfast.job set chain = null where id = %(done)s""",
     "its history has no chain, and is not from before there were any"),
    ("B04", "two jobs hold one key", """
     drop index holdfast.job_key;
     update holdfast.job set key = 'once', key_scope = 'ever', key_held = true where id = %(done)s""",
     "job … holds the key once of task plain too"),
    ("B05", "a job is deleted", "delete from holdfast.job where id = %(sleeping)s",
     "its history of 3 rows is there, and the job is not"),
    ("B07", "an ended job takes its key again", "update holdfast.job set key_held = true where id = %(failed)s",
     "it is FAILED and holds its key, whose scope is active"),
    ("B07", "a failed job keeps a key that only success keeps", """
     update holdfast.job set key_scope = 'success', key_held = true where id = %(failed)s""",
     "it is FAILED and holds its key, whose scope is success"),
    ("B07", "a completed job keeps a key that nobody keeps", """
     update holdfast.job set key = 'mine', key_scope = 'active', key_held = true where id = %(done)s""",
     "it is COMPLETED and holds its key, whose scope is active"),
    ("B08", "a job is retried twice", """
     drop index holdfast.job_retried_once;
     update holdfast.job set retry_of = %(failed)s where id = %(scheduled)s""",
     "job … is a retry of the same job"),
    ("C02", "an attempt gets a second outcome", """
     update holdfast.job_history set attempt = 1 where job_id = %(failed)s and seq = 5""",
     "attempt 1 has 2 outcomes: RETRY, FAILED"),
    ("C03", "an attempt's outcome is rewritten", "update holdfast.attempt set outcome = 'failed' where job_id = %(done)s",
     "attempt 1 is kept as failed, and the history says COMPLETED"),
    ("C03", "a running attempt gets an outcome", """
     insert into holdfast.attempt (job_id, attempt, worker, outcome) values (%(running)s, 1, 'w', 'completed')""",
     "attempt 1 is kept as completed, and the history says nothing"),
    ("C03", "attempts are kept as what none of them was", """
     insert into holdfast.attempt (job_id, attempt, worker, outcome)
     values (%(kept)s, 1, 'w', 'crashed'), (%(retried)s, 1, 'w', 'released'), (%(undo)s, 1, 'w', 'waiting'), (%(reported)s, 1, 'w', 'cancelled')""",
     "attempt 1 is kept as crashed, and the history says COMPLETED", "attempt 1 is kept as released, and the history says COMPLETED",
     "attempt 1 is kept as waiting, and the history says COMPLETED", "attempt 1 is kept as cancelled, and the history says COMPLETED"),
    ("C04", "a step is saved after its attempt ended", """
     update holdfast.step set finished_at = finished_at + interval '1 hour' where job_id = %(done)s""",
     "step fetch was written at …, when attempt 1 did not own the job"),
    ("C04", "a zombie's checkpoint", "update holdfast.checkpoint set at = at + interval '1 hour' where job_id = %(done)s",
     "its checkpoint was written at …, when attempt 1 did not own the job"),
    ("C04", "a zombie's step from behind the next claim", """
     insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value)
     select job_id, 'late', 'step', '', 1, at, at + interval '1 second', '1' from holdfast.job_history
      where job_id = %(failed)s and attempt = 2 and to_status = 'RUNNING'""",
     "step late was written at …, when attempt 1 did not own the job"),
    ("C04", "a zombie's checkpoint from before the next claim", """
     insert into holdfast.checkpoint (job_id, attempt, at, value)
     select job_id, 1, at + interval '1 microsecond', '1' from holdfast.job_history where job_id = %(failed)s and to_status = 'RETRY'""",
     "its checkpoint was written at …, when attempt 1 did not own the job"),
    ("C04", "progress from before the claim", "update holdfast.progress set at = at - interval '1 hour' where job_id = %(done)s",
     "its progress was written at …, when attempt 1 did not own the job"),
    ("C04", "a question is asked by an attempt that had ended", "update holdfast.approval set asked_at = asked_at + interval '1 hour' where id = %(gate of denied)s",
     "approval gate was written at …, when attempt 1 did not own the job"),
    ("C04", "a question is asked long after its attempt stopped running", """
     update holdfast.job_history set at = at - interval '1 hour' where job_id = %(denied)s and seq <= 3""",
     "approval gate was written at …, when attempt 1 did not own the job"),
    ("C04", "a run is handed over before the claim", "update holdfast.dispatch set created_at = created_at - interval '1 hour' where job_id = %(outside)s",
     "the run at executor ci was written at …, when attempt 1 did not own the job"),
    ("D01", "a job goes on without a decision", """
     update holdfast.approval set decision = null, decided_at = null, decided_by = null where id = %(gate of approved)s""",
     "it went on to RUNNING (row 4) and no decision says so"),
    ("D01", "a denial becomes an approval", "update holdfast.approval set decision = 'approved' where id = %(gate of denied)s",
     "it went on to FAILED (row 4) and no decision says so"),
    ("D01", "a decision came too late", """
     update holdfast.approval set expires_at = decided_at - interval '1 minute' where id = %(gate of approved)s""",
     "approval gate was approved by bob at …, after it had expired at …"),
    ("D01", "another job's approval is borrowed", """
     update holdfast.job_history set metadata = jsonb_set(metadata, '{approval,id}', to_jsonb(%(gate of denied)s::text))
      where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'""",
     "it went on to RUNNING (row 4) and no decision says so"),
    ("D01", "another job's approval is made to fit and borrowed", """
     update holdfast.approval set decision = 'approved' where id = %(gate of denied)s;
     update holdfast.job_history set metadata = jsonb_set(metadata, '{approval,id}', to_jsonb(%(gate of denied)s::text))
      where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'""",
     "it went on to RUNNING (row 4) and no decision says so"),
    ("D01", "a decision comes after what followed from it", """
     update holdfast.approval set decided_at = decided_at + interval '1 minute' where id = %(gate of approved)s""",
     "it went on to RUNNING (row 4) and no decision says so"),
    ("D01", "a move names no approval", """
     update holdfast.job_history set metadata = '{"approval": {"id": "x"}}' where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'""",
     "it went on to RUNNING (row 4) and no decision says so"),
    ("D02", "a decision is written without its consequence", """
     update holdfast.approval set decision = 'denied', decided_at = asked_at, decided_by = 'ann' where id = %(gate of asking)s""",
     "approval gate is denied, and the job is WAITING_FOR_APPROVAL"),
    ("D02", "a decided approval is open again", """
     update holdfast.approval set decision = null, decided_at = null, decided_by = null where id = %(gate of denied)s""",
     "approval gate is open, and the job is FAILED"),
    ("D02", "a job waits for another approval than its own", "update holdfast.job set approval_id = %(gate of denied)s where id = %(asking)s",
     "approval gate is open, and the job is WAITING_FOR_APPROVAL"),
    ("D02", "an approval is one that no move names", """
     update holdfast.job_history set metadata = '{}' where job_id = %(approved)s and from_status = 'WAITING_FOR_APPROVAL'""",
     "approval gate is approved, and the job is COMPLETED"),
    ("D02", "an approval becomes a denial", "update holdfast.approval set decision = 'denied' where id = %(gate of approved)s",
     "approval gate is denied, and the job is COMPLETED"),
    ("D02", "a denial becomes an approval that nothing follows from", "update holdfast.approval set decision = 'approved' where id = %(gate of denied)s",
     "approval gate is approved, and the job is FAILED"),
    ("D02", "an approved job waits for another approval", "update holdfast.job set approval_id = %(gate of denied)s where id = %(allowed)s",
     "approval gate is approved, and the job is WAITING_FOR_APPROVAL"),
    ("D02", "a failure names no denial", "update holdfast.job_history set metadata = '{}' where job_id = %(denied)s and seq = 4",
     "approval gate is denied, and the job is FAILED"),
    ("D02", "a denial is named by another job's failure", """
     update holdfast.job_history set metadata = jsonb_build_object('approval', jsonb_build_object('id', %(gate of left to deny)s::text))
      where job_id = %(denied)s and seq = 4;
     delete from holdfast.job_history where job_id = %(left to deny)s and seq = 4""",
     "approval gate is denied, and the job is FAILED"),
    ("D02", "a denial becomes a cancellation", "update holdfast.approval set decision = 'cancelled' where id = %(gate of denied)s",
     "approval gate is cancelled, and the job is FAILED"),
    ("D02", "a cancellation becomes an approval of another attempt", """
     update holdfast.approval set decision = 'approved', attempt = 0 where id = %(gate of withdrawn)s""",
     "approval gate is approved, and the job is CANCELLED"),
    ("D03", "a voice goes", "delete from holdfast.approval_decision where approval_id = %(gate of approved)s and who = 'bob'",
     "approval gate was approved with 1 approvals of 2 and 0 denials"),
    ("D03", "a voice comes after the decision", """
     insert into holdfast.approval_decision (approval_id, who, decision, how, at, bound_hash)
     select id, 'carl', 'approve', 'person', decided_at + interval '1 minute', bound_hash from holdfast.approval where id = %(gate of approved)s""",
     "carl decided approval gate at …, when it was decided already"),
    ("D03", "a denial is not heeded", """
     update holdfast.approval_decision set decision = 'deny', reason = 'x' where approval_id = %(gate of approved)s and who = 'ann'""",
     "approval gate was approved with 1 approvals of 2 and 1 denials"),
    ("D03", "a denial is put among approvals", """
     insert into holdfast.approval_decision (approval_id, who, decision, reason, how, at, bound_hash)
     select id, 'carl', 'deny', 'x', 'person', asked_at, bound_hash from holdfast.approval where id = %(gate of approved)s""",
     "approval gate was approved with 2 approvals of 2 and 1 denials"),
    ("D03", "the clock is put among approvals", """
     insert into holdfast.approval_decision (approval_id, who, decision, how, at, bound_hash)
     select id, 'system', 'approve', 'system', asked_at, bound_hash from holdfast.approval where id = %(gate of approved)s""",
     "approval gate was approved with 2 approvals of 2 and 0 denials"),
    ("D03", "what people decided is put down to the clock", "update holdfast.approval set decided_by = 'system' where id = %(gate of approved)s",
     "approval gate was approved with 2 approvals of 2 and 0 denials"),
    ("D03", "the clock's decision is put down to somebody", """
     update holdfast.approval set decided_by = 'ann', decided_at = expires_at where id = %(gate of left to approve)s""",
     "approval gate was approved with 0 approvals of 2 and 0 denials"),
    ("D03", "an approval is not heeded", """
     insert into holdfast.approval_decision (approval_id, who, decision, how, at, bound_hash)
     select id, 'ann', 'approve', 'person', asked_at, bound_hash from holdfast.approval where id = %(gate of asking)s""",
     "approval gate was left open with 1 approvals of 1 and 0 denials"),
    ("D03", "a denial goes", "delete from holdfast.approval_decision where approval_id = %(gate of denied)s",
     "approval gate was denied with 0 approvals of 1 and 0 denials"),
    ("D03", "one person approves twice", "update holdfast.approval_decision set who = ' Ann' where approval_id = %(gate of approved)s and who = 'bob'",
     "approval gate was approved with 1 approvals of 2 and 0 denials"),
    ("D04", "a token is in a history", """
     update holdfast.job_history set reason = 'used hfa_' || repeat('Aa0-_', 8) || 'xyz' where job_id = %(approved)s and seq = 4""",
     "row 4 of its history has what looks like a secret"),
    ("D04", "a key is in what happened", """
     update holdfast.activity set data = data || jsonb_build_object('by', 'hfk_abcdefghijkl_' || repeat('x', 43)) where job_id = %(reported)s""",
     "its activity … (dispatch.planned) has what looks like a secret"),
    ("D04", "a login link is in who did something", "update holdfast.activity set actor = 'hfl_' || repeat('x', 43) where job_id = %(outside)s",
     "its activity … (dispatch.planned) has what looks like a secret"),
    ("D04", "an executor's secret is in a history", """
     update holdfast.job_history set reason = 'with hfx_' || repeat('0a', 32) where job_id = %(reported)s and seq = 2""",
     "row 2 of its history has what looks like a secret"),
    ("D04", "a webhook's secret is in a history", """
     update holdfast.job_history set metadata = jsonb_build_object('key', 'whsec_' || repeat('Aa0+', 8)) where job_id = %(done)s and seq = 1""",
     "row 1 of its history has what looks like a secret"),
    ("D04", "a session is in a history", "update holdfast.job_history set actor = 'hfs_' || repeat('x', 43) where job_id = %(done)s and seq = 1",
     "row 1 of its history has what looks like a secret"),
    ("D05", "who asked decides", "update holdfast.approval set requester = 'Ann ' where id = %(gate of denied)s",
     "ann decided approval gate and had asked for the job"),
    ("D05", "a stranger decides", "update holdfast.approval set approvers = '{bob,carl}' where id = %(gate of denied)s",
     "ann decided approval gate and is none of its approvers"),
    ("D06", "a payload is rewritten after the decision", "update holdfast.job set payload = '{\"user\": 2}' where id = %(approved)s",
     "approval gate is about something else than what the job and the question are now"),
    ("D06", "a voice is about something else", "update holdfast.approval_decision set bound_hash = 'x' where who = 'bob'",
     "bob decided about something else than what approval gate asks"),
    ("E01", "a callback counts for an attempt that did not end by it", """
     update holdfast.job_history set actor = 'w' where job_id = %(reported)s and to_status = 'COMPLETED'""",
     "callback.completed counted for attempt 1, and the history has no such end of a run"),
    ("E01", "a callback counts for nobody's run", "delete from holdfast.dispatch where job_id = %(reported)s",
     "callback.started counted for attempt 1, which was handed over to nobody"),
    ("E01", "a run has another claim", "update holdfast.dispatch set claim_id = gen_random_uuid() where job_id = %(outside)s",
     "the run at executor ci has another claim than attempt 1"),
    ("E01", "a callback's attempt is no number", """
     update holdfast.activity set data = data || '{"attempt": "x"}' where job_id = %(reported)s and kind = 'callback.completed'""",
     "callback.completed counted for attempt none, and the history has no such end of a run"),
    ("E01", "a callback said otherwise than the history", """
     update holdfast.activity set kind = 'callback.failed' where job_id = %(reported)s and kind = 'callback.completed'""",
     "callback.failed counted for attempt 1, and the history has no such end of a run"),
    ("E01", "a callback counts for an attempt that was never handed over", """
     update holdfast.activity set data = data || '{"attempt": 2}' where job_id = %(reported)s and kind = 'callback.started'""",
     "callback.started counted for attempt 2, which was handed over to nobody"),
    ("E02", "a run ends twice", """
     insert into holdfast.activity (job_id, at, xid, kind, actor, data)
     select job_id, at, xid, kind, actor, data from holdfast.activity where job_id = %(reported)s and kind = 'callback.completed'""",
     "2 ends were taken from runs of attempt 1"),
    ("E03", "a delivery goes, its job stays", "delete from holdfast.webhook_delivery where event_id = 'evt_1' and %(delivered)s::uuid is not null",
     "endpoint stripe made it, and no delivery says so"),
    ("E03", "a delivery is of another endpoint", "update holdfast.webhook_delivery set endpoint = 'github' where event_id = 'evt_1' and %(delivered)s::uuid is not null",
     "endpoint stripe made it, and no delivery says so"),
    ("E03", "a delivery is of another transaction", "update holdfast.webhook_delivery set xid = 1 where event_id = 'evt_1' and %(delivered)s::uuid is not null",
     "endpoint stripe made it, and no delivery says so"),
    ("E03", "a delivery comes after its job", """
     update holdfast.webhook_delivery set ended_at = ended_at + interval '1 hour' where event_id = 'evt_1' and %(delivered)s::uuid is not null""",
     "endpoint stripe made it, and no delivery says so"),
    ("E03", "a delivery comes long before its job", """
     update holdfast.webhook_delivery set ended_at = ended_at - interval '1 hour' where event_id = 'evt_1' and %(delivered)s::uuid is not null""",
     "endpoint stripe made it, and no delivery says so"),
    ("E03", "an event is delivered twice", """
     alter table holdfast.webhook_delivery drop constraint webhook_event_is_handled_once;
     insert into holdfast.webhook_delivery (id, endpoint, event_id, type, status, body)
     values (holdfast.new_id(), 'stripe', 'evt_1', 'paid', 'ignored', '')""",
     "event evt_1 of endpoint stripe has 2 deliveries"),
    ("E03", "a second delivery says that it made the job", """
     insert into holdfast.webhook_delivery (id, endpoint, event_id, type, tenant, status, body, jobs)
     values (holdfast.new_id(), 'stripe', 'evt_3', 'paid', 'acme', 'handled', '', array[%(delivered)s])""",
     "2 deliveries of endpoint stripe made it"),
    ("E04", "a callback counts after the end", """
     update holdfast.activity set at = at + interval '1 minute' where job_id = %(reported)s and kind = 'callback.started'""",
     "callback.started was taken at …, after the job had ended"),
    ("E04", "a callback is answered with ok after the end", """
     update holdfast.callback_nonce set at = at + interval '1 minute' where job_id = %(reported)s and answer = 'ok'""",
     "a callback was answered with ok at …, after the job had ended"),
    ("E04", "another callback than the last is answered with ok just after the end", """
     update holdfast.callback_nonce n set at = j.finished_at + interval '1 second' from holdfast.job j
      where j.id = %(reported)s and n.job_id = j.id and n.answer = 'ok'""",
     "a callback was answered with ok at …, after the job had ended"),
    ("E04", "a callback is answered with ok just after another end than a run's", """
     insert into holdfast.callback_nonce (job_id, nonce, body_hash, answer, at)
     select id, 'late', 'x', 'ok', finished_at + interval '1 second' from holdfast.job where id = %(done)s""",
     "a callback was answered with ok at …, after the job had ended"),
    ("E05", "a run is over and holds the job", "update holdfast.dispatch set state = 'over' where job_id = %(outside)s",
     "the run of attempt 1 at executor ci is over, and the job is in its hands"),
    ("E05", "a run of an ended job is still out", "update holdfast.dispatch set state = 'sent' where job_id = %(reported)s",
     "the run of attempt 1 at executor ci is sent, and the job is completed, in other hands"),
    ("E05", "a worker takes a job out of a run's hands", "update holdfast.job set holder = %(worker)s where id = %(outside)s",
     "the run of attempt 1 at executor ci is sent, and the job is running, in other hands"),
    ("F01", "a step is of an attempt that was never made", "update holdfast.step set attempt = 9 where job_id = %(done)s",
     "step fetch is of attempt 9, which was never made"),
    ("F01", "a checkpoint is of an attempt that was never made", "update holdfast.checkpoint set attempt = 2 where job_id = %(done)s",
     "its checkpoint is of attempt 2, which was never made"),
    ("F01", "an outcome and log lines are of an attempt that was never made", """
     update holdfast.attempt set attempt = 9 where job_id = %(done)s;
     insert into holdfast.log_part (job_id, attempt, first, worker, lines) values (%(done)s, 9, 1, 'w', '[]')""",
     "its outcome is of attempt 9, which was never made", "a part of its log is of attempt 9, which was never made"),
    ("F01", "a step is of an attempt before the first", "update holdfast.step set attempt = 0 where job_id = %(done)s",
     "step fetch is of attempt 0, which was never made"),
    ("F02", "a retry is another tenant's", "update holdfast.job set tenant = 'globex' where id = %(retried)s",
     "it is of task plain and tenant globex, and job …, which it retries, of task plain and tenant acme"),
    ("F02", "a compensation is nobody's", "update holdfast.job set tenant = null where id = %(undo)s",
     "it is of task undone and tenant nobody, and job …, which it undoes, of task undone and tenant acme"),
    ("F02", "a retry is another task's", "update holdfast.job set task = 'rated' where id = %(retried)s",
     "it is of task rated and tenant acme, and job …, which it retries, of task plain and tenant acme"),
    ("F02", "a delivery's job is another tenant's", "update holdfast.job set tenant = 'globex' where id = %(delivered)s",
     "it is of tenant globex, and the delivery that made it of tenant acme"),
    ("F02", "an event of another tenant was taken", "update holdfast.event set tenant = 'globex'",
     "step hears took event 1 of tenant globex"),
    ("F03", "a job with steps goes", """
     delete from holdfast.job_history where job_id = %(done)s;
     delete from holdfast.job where id = %(done)s""",
     "step fetch is there, and the job is not", "a checkpoint is there, and the job is not", "progress is there, and the job is not", "attempt 1 is there, and the job is not", "activity progress is there, and the job is not"),
    ("F03", "a job that runs elsewhere goes", "delete from holdfast.job where id = %(reported)s",
     "a run at executor ci is there, and the job is not", "a callback's answer is there, and the job is not"),
    ("F03", "a job that asked goes", "delete from holdfast.job where id = %(denied)s",
     "approval gate is there, and the job is not"),
    ("F03", "a job goes that another one needs", "delete from holdfast.job where id = %(first)s",
     "somebody's dependency on it is there, and the job is not"),
    ("F03", "a job goes that needs another one", "delete from holdfast.job where id = %(second)s",
     "a dependency is there, and the job is not", "a wait is there, and the job is not"),
    ("F03", "a job goes that has a slot, and what it said", """
     insert into holdfast.log_part (job_id, attempt, first, worker, lines) values (%(slotted)s, 1, 1, 'w', '[]');
     delete from holdfast.job where id = %(slotted)s""",
     "a slot of user:1 is there, and the job is not", "a part of its log is there, and the job is not"),
    ("F03", "an approval goes that a job waits for", """
     delete from holdfast.approval where id = %(gate of asking)s""",
     "it waits for approval …, which is not there, or another job's"),
    ("F03", "a job waits for another job's approval", "update holdfast.job set approval_id = %(gate of denied)s where id = %(asking)s",
     "it waits for approval …, which is not there, or another job's"),
    ("F03", "a worker goes that holds a job", "delete from holdfast.worker where id = %(worker)s",
     "it is held by …, which is neither a worker nor a run"),
    ("F03", "a run goes that holds a job", "delete from holdfast.dispatch where job_id = %(outside)s",
     "it is held by …, which is neither a worker nor a run"),
    ("F03", "another job's run holds a job", """
     update holdfast.job set holder = (select id from holdfast.dispatch where job_id = %(reported)s) where id = %(outside)s""",
     "it is held by …, which is neither a worker nor a run"),
    ("F03", "a step took no event that can be", "update holdfast.step set value = value || '{\"id\": \"x\"}' where kind = 'event'",
     "step hears took an event, and does not say which"),
    ("F04", "a job is of a time that is none", """
     update holdfast.job set metadata = metadata || '{"slot": "2026-02-30T25:61:00+00:00"}' where id = %(scheduled)s""",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a job is of a time that is no time", "update holdfast.job set metadata = metadata || '{\"slot\": \"soon\"}' where id = %(scheduled)s",
     "schedule nightly made it for soon, and no run of that time says so"),
    ("F04", "a run of a schedule goes", "delete from holdfast.schedule_run",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a run is put down to another job", "update holdfast.schedule_run set job_id = %(done)s where job_id = %(scheduled)s",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a run that fired is one that was missed", "update holdfast.schedule_run set outcome = 'missed' where job_id = %(scheduled)s",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a run is of another time", "update holdfast.schedule_run set slot = slot - interval '1 minute' where job_id = %(scheduled)s",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a run is of another schedule", "update holdfast.schedule_run set schedule = 'owed' where job_id = %(scheduled)s",
     "schedule nightly made it for …, and no run of that time says so"),
    ("F04", "a schedule is set back", "update holdfast.schedule set settled_to = settled_to - interval '2 hours'",
     "schedule late ran for …, and may still come to that time: all up to … is decided"),
    ("F04", "a time that was passed over is forgotten", "delete from holdfast.schedule_run where schedule = 'late'",
     "schedule late is decided up to …, and of 4 times from … to … nothing says that it fired or was passed over"),
    ("F04", "a stretch of missed times is cut short", """
     update holdfast.schedule_run set last_slot = slot, times = 1 where schedule = 'nightly' and outcome = 'missed'""",
     "schedule nightly is decided up to …, and of 2 times from … to … nothing says that it fired or was passed over"),
    ("F04", "a time in the middle goes with its job's word for it", """
     update holdfast.job set requested_by = 'ann' where metadata ->> 'schedule' = 'owed';
     delete from holdfast.schedule_run r where r.slot = (select min(slot) + interval '40 minutes' from holdfast.schedule_run where schedule = 'owed')""",
     "schedule owed is decided up to …, and of 1 time from … to … nothing says that it fired or was passed over"),
    ("F04", "a schedule is set forward", """
     update holdfast.schedule set settled_to = settled_to + interval '2 hours', next_at = null where name = 'late'""",
     "schedule late is decided up to …, which has not come yet"),
    ("F04", "a schedule waits for ever", "update holdfast.schedule set next_at = 'infinity' where name = 'owed'",
     "schedule owed waits for …, and … is a time of it that comes first"),
    ("F04", "a schedule is decided for ever", "update holdfast.schedule set settled_to = 'infinity', next_at = null where name = 'late'",
     "schedule late is decided up to infinity, which has not come yet"),
    ("F04", "a run is of no time at all", """
     insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, actor) values ('late', 'infinity', 'infinity', 'missed', now(), 'x')""",
     "schedule late ran for infinity, and may still come to that time: all up to … is decided"),
    ("F04", "a time fires twice", """
     alter table holdfast.schedule_run drop constraint schedule_run_pkey;
     insert into holdfast.schedule_run select * from holdfast.schedule_run""",
     "schedule owed has 2 runs for …"),
    ("F05", "an ended job keeps a slot", "insert into holdfast.slot (job_id, key, n) values (%(done)s, 'user:7', 1)",
     "it has ended and holds a slot of user:7"),
    ("F05", "a start is kept for a job that is not in line", "update holdfast.rate_slot set job_id = %(done)s",
     "a start under rate mails is kept for it, and it is not in line"),
    ("F05", "a wait of a cancelled job stays", "insert into holdfast.wait (job_id, event) values (%(cancelled)s, 'paid')",
     "it is CANCELLED, and its wait for event paid is still there"),
    ("F05", "a wait of a failed job stays", "insert into holdfast.wait (job_id, remaining) values (%(failed)s, 2)",
     "it is FAILED, and its wait for 2 jobs is still there"),
    ("F05", "a compensation takes a slot", "insert into holdfast.slot (job_id, key, n) values (%(undo)s, 'user:8', 1)",
     "it undoes another job and holds a slot of user:8 all the same"),
    ("F07", "what did not fail is retried", "update holdfast.job set retry_of = %(done)s where id = %(scheduled)s",
     "it retries job …, which is COMPLETED"),
    ("F07", "what did not fail is undone", "update holdfast.job set compensates = %(done)s where id = %(undo)s",
     "it undoes job …, which is COMPLETED"),
    ("F07", "what was cancelled is retried", "update holdfast.job set retry_of = %(cancelled)s where id = %(scheduled)s",
     "it retries job …, which is CANCELLED"),
]  # fmt: skip

# What time or another worker would bring about, and breaks no rule.
HARMLESS: list[tuple[str, str]] = [
    ("the clock decides late", "update holdfast.approval set expires_at = decided_at - interval '1 hour' where id = %(gate of left to deny)s"),
    ("a question is withdrawn when its time is over", "update holdfast.approval set expires_at = asked_at - interval '1 hour' where id = %(gate of withdrawn)s"),
    ("attempts are kept with every outcome", """
     update holdfast.attempt set outcome = 'crashed' where job_id = %(failed)s;
     update holdfast.attempt set outcome = 'released' where job_id = %(failed)s and attempt = 1;
     insert into holdfast.attempt (job_id, attempt, worker, outcome)
     values (%(sleeping)s, 1, 'w', 'waiting'), (%(asking)s, 1, 'w', 'waiting'), (%(stopped)s, 1, 'w', 'cancelled')"""),
    ("a finisher reads the clock, and waits for whoever saves a step", """
     update holdfast.step s set finished_at = j.finished_at + interval '1 second' from holdfast.job j where j.id = %(done)s and s.job_id = j.id"""),
    ("a callback that came too late is refused", "update holdfast.callback_nonce set at = at + interval '1 minute' where answer <> 'ok'"),
    ("deliveries are forgotten after thirty days", """
     update holdfast.job_history set at = at - interval '30 days' where job_id = %(delivered)s;
     update holdfast.job set chain = holdfast.head_of(id) where id = %(delivered)s;
     delete from holdfast.webhook_delivery where event_id = 'evt_1'"""),
    ("somebody calls himself an endpoint", """
     update holdfast.job set requested_by = 'webhook:stripe' where id = %(done)s;
     update holdfast.job_history set actor = 'webhook:stripe' where job_id = %(done)s and seq = 1;
     update holdfast.job_history set actor = 'webhook:stripe' where job_id in (%(retried)s, %(undo)s) and seq = 1;
     update holdfast.job set chain = holdfast.head_of(id) where id in (%(done)s, %(retried)s, %(undo)s)"""),
    ("another delivery was replayed", """
     insert into holdfast.webhook_delivery (id, endpoint, event_id, type, tenant, status, body, jobs)
     values (holdfast.new_id(), 'stripe', 'evt_3', 'paid', 'globex', 'handled', '', array[%(done)s])"""),
    ("an event is everybody's", "update holdfast.event set tenant = null"),
    ("nobody waits for an event any more", "update holdfast.step set value = '{\"timed_out\": true}' where kind = 'event'"),
    ("a start under a rate is used up", "update holdfast.rate_slot set used_at = holdfast.clock(), job_id = %(done)s"),
    ("what was cancelled is undone", "update holdfast.job set compensates = %(cancelled)s where id = %(kept)s"),
    ("somebody's own words are those of a schedule", "update holdfast.job set metadata = '{\"schedule\": \"nightly\", \"slot\": \"x\"}' where id = %(done)s"),
    ("a schedule's job is of no time", "update holdfast.job set metadata = metadata - 'slot' where id = %(scheduled)s"),
    ("what a schedule asked for is retried and undone", """
     update holdfast.job j set metadata = s.metadata, requested_by = s.requested_by from holdfast.job s
      where s.id = %(scheduled)s and j.id in (%(retried)s, %(undo)s)"""),
    ("events and statistics are kept for ever", "update holdfast.projection set feed_kept = '6000 years', statistics_kept = '6000 years'"),
    ("events and statistics are not kept at all", "update holdfast.projection set feed_kept = '0', statistics_kept = '0'"),
    ("a schedule that is paused waits for nothing", "update holdfast.schedule set paused_at = now(), next_at = 'infinity' where name = 'owed'"),
    ("a schedule that was withdrawn waits for nothing", "update holdfast.schedule set withdrawn_at = now(), next_at = 'infinity' where name = 'owed'"),
    ("runs of schedules are forgotten after ninety days", """
     update holdfast.schedule_run set job_id = %(done)s where job_id = %(scheduled)s;
     update holdfast.job set created_at = created_at - interval '90 days' where id = %(scheduled)s"""),
]  # fmt: skip

# What holds once nobody works any more.
UNREST: list[Seeded] = [
    ("A12", "a worker is dead", "update holdfast.worker set died_at = seen_at where id = %(worker)s",
     "worker w holds it and has not been heard of since …"),
    ("A12", "a worker's lease has run out", """
     create or replace function holdfast.clock() returns timestamptz language sql volatile parallel safe return clock_timestamp() + interval '1 hour';
     update holdfast.worker set lease = interval '1 second' where id = %(worker)s""",
     "worker w holds it and has not been heard of since …"),
    ("A12", "a deadline has passed", "update holdfast.job set deadline_at = started_at - interval '1 hour' where id = %(running)s",
     "attempt 1 was to end by …"),
    ("A14", "a listener's wait becomes another's", "update holdfast.wait set job_id = %(sleeping)s where job_id = %(listening)s",
     "it is WAITING and held back by event paid, which nobody will end"),
    ("A14", "a slot that somebody waits for goes", """
     update holdfast.slot set key = 'user:9' where key = (select substr(held_by, 7) from holdfast.job where id = %(parked)s)""",
     "it is PENDING and held back by limit:user:1, which nobody will end"),
    ("A14", "a count of needed jobs is wrong", "update holdfast.wait set remaining = 2 where job_id = %(second)s",
     "it is PENDING and held back by jobs, which nobody will end"),
    ("A14", "jobs are held back by what nobody will end", """
     update holdfast.job set claim_order = null, due_at = null, held_by = null where id = %(first)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'rate:none' where id = %(slowed)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'task:plain' where id = %(halted)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'compensation of it' where id = %(parked)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'worker:w' where id = %(sleeping)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'event shipped' where id = %(listening)s;
     update holdfast.job set claim_order = null, due_at = null, held_by = 'somebody' where id = %(delivered)s""",
     "it is PENDING and held back by nothing, which nobody will end", "it is PENDING and held back by rate:none, which nobody will end",
     "it is PENDING and held back by task:plain, which nobody will end", "it is PENDING and held back by compensation of it, which nobody will end",
     "it is WAITING and held back by worker:w, which nobody will end", "it is WAITING and held back by event shipped, which nobody will end",
     "it is PENDING and held back by somebody, which nobody will end"),
    ("A14", "a flag is on for all that holds a job back, and another one off", """
     insert into holdfast.flag (name, enabled, set_by) values ('gamma', false, 'x');
     update holdfast.flag set enabled = true where name = 'beta' and %(unflagged)s::uuid is not null""",
     "it is PENDING and held back by flag:beta:0, which nobody will end"),
    ("A14", "a job's approval is decided behind its back", """
     update holdfast.approval set decision = 'approved', decided_at = asked_at, decided_by = 'ann' where id = %(gate of asking)s""",
     "it is WAITING_FOR_APPROVAL and held back by nothing, which nobody will end"),
    ("A14", "a retry waits for a compensation that is done", """
     update holdfast.job set claim_order = null, due_at = null, held_by = 'compensation of it', retry_of = %(undone)s where id = %(first)s""",
     "it is PENDING and held back by compensation of it, which nobody will end"),
    ("A14", "a slot that nobody has is waited for", "update holdfast.slot set n = null where key = (select substr(held_by, 7) from holdfast.job where id = %(parked)s)",
     "it is PENDING and held back by limit:user:1, which nobody will end"),
    ("A14", "a job in line is held back", "update holdfast.job set held_by = 'task:plain' where id = %(scheduled)s",
     "it is in line and held back by task:plain at once"),
    ("F06", "a running job loses its slot", "delete from holdfast.slot where job_id = %(slotted)s",
     "it runs and holds no slot of user:1"),
]  # fmt: skip

# What may last at rest: somebody or something will end it.
RESTFUL: list[tuple[str, str]] = [
    ("a retry waits for a compensation that failed", """
     update holdfast.job set due_at = null, held_by = 'compensation of it', retry_of = %(undone)s where id = %(first)s;
     update holdfast.job set status = 'FAILED' where id = %(undo)s"""),
    ("a retry waits for a compensation that has not ended", """
     update holdfast.job set due_at = null, held_by = 'compensation of it', retry_of = %(undone)s where id = %(first)s;
     update holdfast.job set finished_at = null, claim_order = now() where id = %(undo)s"""),
    ("a compensation waits for a worker to be given up", "update holdfast.job set held_by = 'worker:w' where id = %(first)s"),
    ("a worker's lease is longer than time", "update holdfast.worker set lease = interval '178000000 years'"),
    ("a task's limits are no list", "update holdfast.task set options = '{\"limits\": {\"key\": \"user:1\"}}' where name = 'plain'"),
    ("a compensation runs without the slots of its task", """
     update holdfast.slot set job_id = %(running)s where job_id = %(slotted)s;
     update holdfast.job set compensates = %(undone)s where id = %(slotted)s"""),
]  # fmt: skip

# What people read, against the history it was projected from.
MISTOLD: list[Seeded] = [
    ("B06", "a count is written by hand", "update holdfast.tally set entered = entered + 1 where status = 'RUNNING'",
     "queue default, task plain: … jobs are RUNNING, and … are counted"),
    ("B06", "an ended job is not counted", "update holdfast.tally set entered = entered - 1 where status = 'COMPLETED' and task = 'plain'",
     "queue default, task plain: … jobs are COMPLETED, and … are counted"),
    ("B06", "a job is put into another queue behind its counts", "update holdfast.job set queue = 'side' where id = %(sleeping)s",
     "queue default, task plain: … jobs are WAITING, and … are counted"),
    ("B06", "a move between queues is of a status that is none", """
     update holdfast.job set ties = ties | 16 where id = %(sleeping)s;
     update holdfast.job_history set xid = 1e12 where job_id = %(sleeping)s and seq = 3;
     insert into holdfast.activity (job_id, at, xid, kind, actor, data)
     select id, updated_at, 1e12, 'job.moved', 'x', '{"from": "a", "to": "b", "status": "ASLEEP", "seq": "x"}'
       from holdfast.job where id = %(sleeping)s""",
     "queue a, task plain: … jobs are ASLEEP, and … are counted"),
    ("B06", "a count is beyond all numbers", "update holdfast.tally set entered = 9223372036854775807, departed = -1 where status = 'RUNNING'",
     "queue default, task plain: … jobs are RUNNING, and … are counted"),
    ("G01", "an event goes", "delete from holdfast.feed where job_id = %(done)s and kind = 'job.started'",
     "its move to RUNNING (row 2) is 0 times in channel subject:org:done"),
    ("G01", "an event is told twice", """
     insert into holdfast.feed select channel, 99, job_id, at, kind, data from holdfast.feed where job_id = %(done)s and kind = 'job.started'""",
     "its move to RUNNING (row 2) is 2 times in channel subject:org:done"),
    ("G02", "an event says something else", "update holdfast.feed set data = data || '{\"status\": \"FAILED\"}' where job_id = %(done)s and kind = 'job.completed'",
     "event 4 of channel subject:org:done says job.completed, and its history COMPLETED"),
    ("G02", "an event tells of what never was", """
     insert into holdfast.feed select channel, 99, job_id, at, kind, data || '{\"seq\": 9}' from holdfast.feed where job_id = %(done)s and kind = 'job.started'""",
     "event 99 of channel subject:org:done says job.started, and its history nothing"),
    ("G02", "an event's row is no number", "update holdfast.feed set data = data || '{\"seq\": \"a\"}' where job_id = %(done)s and kind = 'job.started'",
     "event 2 of channel subject:org:done says job.started, and its history nothing"),
    ("G02", "an event's attempt is no number", "update holdfast.feed set data = data || '{\"attempt\": \"a\"}' where job_id = %(done)s and kind = 'job.started'",
     "event 2 of channel subject:org:done says job.started, and its history RUNNING"),
    ("G02", "a move is told under another kind", "update holdfast.feed set kind = 'progress' where job_id = %(done)s and kind = 'job.started'",
     "event 2 of channel subject:org:done says progress, and its history RUNNING"),
    ("G02", "a move is told without its attempt", "update holdfast.feed set data = data - 'attempt' where job_id = %(done)s and kind = 'job.started'",
     "event 2 of channel subject:org:done says job.started, and its history RUNNING"),
    ("G02", "an event is in another subject's channel", "update holdfast.feed set channel = 'subject:org:else' where job_id = %(done)s",
     "event 1 is in channel subject:org:else, and the job's subject is org:done"),
    ("G03", "events change places", """
     update holdfast.feed set id = id + 100 where job_id = %(done)s and kind = 'job.started'""",
     "event 102 of channel subject:org:done tells of row 2 behind row 3"),
    ("G04", "a channel has given more ids than events", "update holdfast.channel set last_id = last_id + 3 where name = 'subject:org:done'",
     "channel subject:org:done has given the id 10, and its newest event has 7"),
    ("G04", "a channel has given fewer ids than it has", "update holdfast.channel set last_id = last_id - 1 where name = 'subject:org:done'",
     "channel subject:org:done has given the id …, and its newest event has …"),
    ("G04", "a channel is forgotten, its events are not", "delete from holdfast.channel where name = 'subject:org:done'",
     "channel subject:org:done has events, and is not known"),
    ("G04", "an event in the middle goes", "delete from holdfast.feed where job_id = %(done)s and kind = 'progress'",
     "channel subject:org:done goes from 2 to 4"),
    ("G04", "events are kept for longer than there is time", "update holdfast.projection set feed_kept = '7000 years'",
     "events are to be kept for 7000 years (feed_kept of holdfast.projection), which is no time that anything can be kept for"),
    ("G04", "events are kept for less than no time", "update holdfast.projection set feed_kept = '-178000000 years'",
     "events are to be kept for -178000000 years (feed_kept of holdfast.projection), which is no time that anything can be kept for"),
    ("G05", "usage is written down", "update holdfast.usage set completed = completed - 1 where task = 'plain'",
     "task plain of tenant acme on …: … completed are in the history, … in usage"),
    ("G05", "usage is written up", "update holdfast.usage set run_seconds = run_seconds + 1 where task = 'plain'",
     "task plain of tenant acme on …: … run_seconds are in the history, … in usage"),
    ("G05", "usage is no number", "update holdfast.usage set run_seconds = 'NaN' where task = 'plain'",
     "task plain of tenant acme on …: … run_seconds are in the history, … in usage"),
    ("G05", "usage is of no day", "update holdfast.usage set day = 'infinity' where task = 'undone'",
     "task undone of tenant acme on …: … enqueued are in the history, … in usage"),
    ("G05", "a move is of no time at all", "update holdfast.job_history set at = 'infinity' where job_id = %(done)s and seq = 3",
     "task plain of tenant acme on …: … completed are in the history, … in usage"),
    ("G05", "a move is of before all time", "update holdfast.job_history set at = '-infinity' where job_id = %(done)s and seq = 3",
     "task plain of tenant acme on …: … completed are in the history, … in usage"),
    ("G05", "usage goes to another tenant", "update holdfast.usage set tenant = 'initech' where tenant = 'acme'",
     "task limited of tenant acme on …: … enqueued are in the history, … in usage"),
    ("G06", "a minute goes", "delete from holdfast.statistic where task = 'undone'",
     "task undone on …: … enqueued are in the history, … in the statistics"),
    ("G06", "a minute is of no time at all", """
     update holdfast.statistic set minute = 'infinity' where (minute, task) in (select min(minute), 'undone' from holdfast.statistic where task = 'undone')""",
     "task undone on …: … enqueued are in the history, … in the statistics"),
    ("G06", "minutes are kept for longer than there is time", "update holdfast.projection set statistics_kept = '7000 years'",
     "statistics are to be kept for 7000 years (statistics_kept of holdfast.projection), which is no time that anything can be kept for"),
    ("G06", "minutes are kept for less than no time", "update holdfast.projection set statistics_kept = '-178000000 years'",
     "statistics are to be kept for -178000000 years (statistics_kept of holdfast.projection), which is no time that anything can be kept for"),
    ("G07", "a bucket is emptied", "update holdfast.timing set count = count + 1 where what = 'run'",
     "task plain, …: … runs and … waits are in the minutes, … and … in the histogram"),
    ("G07", "a wait is counted that never was", "update holdfast.timing set count = count + 1 where what = 'wait'",
     "task plain, …: … runs and … waits are in the minutes, … and … in the histogram"),
    ("F02", "an event is told to another tenant", """
     insert into holdfast.feed select 'tenant:globex', 1, job_id, at, kind, data from holdfast.feed where job_id = %(done)s and kind = 'job.started'""",
     "event 1 is in channel tenant:globex, and the job of tenant acme"),
]  # fmt: skip


def corrupt(past: Past, statements: str) -> None:
    for table in GUARDED:
        past.machine.run(f"alter table holdfast.{table} disable trigger user")
    for statement in statements.split(";\n"):
        past.machine.connection.execute(statement, {**past.ids, "worker": past.worker})


def test_a_past_with_everything_in_it_is_clean(past: Past) -> None:
    assert broken_rules(past.machine.connection) == []
    assert left_at_rest(past.machine.connection) == []
    assert broken_projections(past.machine.connection) == []


def meant(past: Past, statements: str) -> set[Any]:
    """Give the jobs that statements name, by themselves or by their approvals."""
    return {
        past.ids[name] for name in re.findall(r"%\((?:gate of )?([^)]+)\)s", statements) if name in past.ids
    }


@pytest.mark.parametrize("seeded", CORRUPTIONS, ids=named)
def test_every_corruption_is_found(past: Past, seeded: Seeded) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, seeded[2])

        assert_said(seeded, broken_rules(past.machine.connection), meant(past, seeded[2]))


@pytest.mark.parametrize(("deed", "statements"), HARMLESS, ids=[deed for deed, _ in HARMLESS])
def test_what_may_be_is_no_finding(past: Past, deed: str, statements: str) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, statements)

        assert broken_rules(past.machine.connection) == [], deed


@pytest.mark.parametrize("seeded", UNREST, ids=named)
def test_what_does_not_come_to_rest_is_found(past: Past, seeded: Seeded) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, seeded[2])

        assert_said(seeded, left_at_rest(past.machine.connection), meant(past, seeded[2]))


@pytest.mark.parametrize(("deed", "statements"), RESTFUL, ids=[deed for deed, _ in RESTFUL])
def test_what_somebody_will_end_is_no_finding_at_rest(past: Past, deed: str, statements: str) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, statements)

        assert left_at_rest(past.machine.connection) == [], deed


@pytest.mark.parametrize("seeded", MISTOLD, ids=named)
def test_what_is_told_otherwise_than_it_was_is_found(past: Past, seeded: Seeded) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        corrupt(past, seeded[2])

        assert_said(seeded, broken_projections(past.machine.connection), meant(past, seeded[2]))


def figures(past: Past, *, exact: bool) -> list[str]:
    """Look at counts and feed as they are, also where not all of it is projected."""
    calls = [audit.tally(exact=exact), audit.told(audit.EVERYTHING), audit.feed(audit.BEGINNING, None)]
    return [found.what for call in calls for found in perform_sync(past.machine.connection, call)]


def test_what_is_yet_to_be_projected_is_no_finding(past: Past) -> None:
    with past.machine.connection.transaction(force_rollback=True):
        past.machine.enqueue("plain", {}, subject="org:done", tenant="acme")
        past.machine.value("select holdfast.cancel(%s, 'ann', 'no more')", past.ids["sleeping"])
        past.machine.register("aside", queue="side")
        past.machine.run("select holdfast.move_to_queue(%s, 'side')", past.ids["first"])
        past.machine.value("select holdfast.cancel(%s, 'ann', 'no more')", past.ids["first"])

        assert figures(past, exact=True) == []


def test_ended_jobs_are_counted_where_none_was_removed(past: Past) -> None:
    """Elsewhere retention has taken some, and their counts stay; that fewer than none are counted is found all the same."""
    counted = "update holdfast.tally set entered = {} where status = 'COMPLETED' and task = 'plain' and queue = 'default'"
    with past.machine.connection.transaction(force_rollback=True):
        past.machine.run(counted.format("entered - 1"))
        assert (len(figures(past, exact=True)), figures(past, exact=False)) == (1, [])

        past.machine.run(counted.format("departed - 1"))
        assert (len(figures(past, exact=True)), len(figures(past, exact=False))) == (1, 1)


def test_a_session_that_forgot_its_transaction_and_one_that_waits_are_found(
    holdfast_db: ScratchDatabase, holdfast_server: TestServer
) -> None:
    with (
        holdfast_server.database() as other,
        machine_on(other.owner_url) as elsewhere,
        machine_on(holdfast_db.owner_url) as observer,
        machine_on(holdfast_db.owner_url) as forgetful,
        machine_on(holdfast_db.owner_url) as waiting,
        ThreadPoolExecutor(1) as thread,
    ):
        assert left_on_server(observer.connection) == []
        with forgetful.connection.transaction(force_rollback=True):
            forgetful.run("lock table holdfast.flag in access exclusive mode")
            waits = thread.submit(waiting.run, "select from holdfast.flag")
            until_somebody_waits(holdfast_db)

            for_a_table = codes(left_on_server(observer.connection))
            in_other_databases = left_on_server(elsewhere.connection)
        waits.result()
        with forgetful.connection.transaction(force_rollback=True):
            forgetful.run("select holdfast.set_flag('mine', true)")
            waits = thread.submit(waiting.run, "select holdfast.set_flag('mine', false)")
            until_somebody_waits(holdfast_db)

            for_a_row = codes(left_on_server(observer.connection))
            while_work_goes_on = perform_sync(observer.connection, audit.hygiene(at_rest=False, idle=0.0))
        waits.result()
        with forgetful.connection.transaction(force_rollback=True):
            with pytest.raises(psycopg.errors.DivisionByZero):
                forgetful.run("select 1 / 0")

            after_an_error = codes(left_on_server(observer.connection))

        assert (for_a_table, for_a_row, after_an_error) == ({"I01", "I03"}, {"I01", "I03"}, {"I01"})
        assert (in_other_databases, while_work_goes_on) == ([], [])


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
        with machine_on(create_database(server.url, "other")) as elsewhere:
            in_other_databases = left_on_server(elsewhere.connection)
        machine.run("rollback prepared 'forgotten'")

        assert (found, in_other_databases, left_on_server(machine.connection)) == ({"I02"}, [], [])


def test_an_audit_beside_a_busy_worker_finds_nothing(stage: Stage, shop: Holdfast) -> None:
    """Slices are read while jobs move: each sees jobs, histories and figures of one moment."""
    stage.worker(concurrency=20)
    session = Session(Database(stage.database.url, "test"), "holdfast audit")
    walks = 0
    try:
        while walks < 15 or stage.counts().get("COMPLETED", 0) < 300:
            shop.enqueue_many([note.using(subject="org:1", tenant="a").job(n) for n in range(20)])
            shop.enqueue_many([fail_once.using(subject="org:2").job() for _ in range(3)])
            assert list(Audit(session, chains=True).findings()) == []
            walks += 1
    finally:
        session.close()
