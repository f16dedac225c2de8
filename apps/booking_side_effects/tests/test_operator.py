"""The operator's commands: what is stuck, why an e-mail did not go out, retry and resend."""

import asyncio
import os
import subprocess
import sys
from uuid import UUID

import pytest
from click.testing import CliRunner

from apps._world.mail import PASSWORD
from apps.booking_side_effects import diagnosis, story, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.operator import main
from apps.booking_side_effects.tests.house import House
from holdfast import BadInput, DuplicateKey
from holdfast.server import Verdict, examine
from holdfast.testing import crash_at

CONFIRMATION = "send_customer_confirmation"


async def operator(*arguments: str, code: int = 0) -> str:
    """Run the command as an operator does; gives what it says."""
    done = await asyncio.to_thread(CliRunner().invoke, main, arguments)
    assert done.exit_code == code, done.output
    return done.output


# -- resend and retry ------------------------------------------------------------------------------------------------------


async def test_resend_clears_the_stamp_queues_a_new_job_and_is_written_down(house: House) -> None:
    booking = await house.paid()
    await house.work()
    first = house.job(CONFIRMATION)

    said = await operator("resend", str(booking), CONFIRMATION, "--by", "ben", "--reason", "it was lost")
    cleared = (await house.booking(booking)).confirmation_email_sent_at
    await house.work()

    again = house.job(CONFIRMATION)
    async with app.atransaction() as conn:
        kept = await conn.execute(
            "select booking_id, type, asked_by, reason, job_id from booking_side_effects.resend"
        )
        rows = await kept.fetchall()
    assert cleared is None
    assert again.id != first.id
    assert (again.status, again.requested_by) == ("COMPLETED", "ben")
    assert str(again.id) in said
    assert rows == [(booking, CONFIRMATION, "ben", "it was lost", UUID(str(again.id)))]
    assert len(house.mailbox.to(story.CUSTOMER)) == 3
    assert (await house.booking(booking)).confirmation_email_sent_at is not None


async def test_a_resend_can_be_had_again(house: House) -> None:
    booking = await house.paid()
    await house.work()

    for _ in range(2):
        await tasks.resend(booking, CONFIRMATION, by="ben", reason="again")
        await house.work()

    assert len(house.database.jobs(task=CONFIRMATION)) == 3
    assert len(house.mailbox.to(story.CUSTOMER)) == 4


async def test_of_two_who_ask_at_once_one_is_refused_and_one_e_mail_goes_out(house: House) -> None:
    booking = await house.paid()
    await house.work()
    asking = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

    async def both_ask() -> bool:
        async with app.atransaction() as conn:
            return int((await conn.execute(asking)).rowcount) == 2

    async with app.atransaction() as conn:
        await conn.execute("select from booking_side_effects.booking where id = %s for update", (booking,))
        both = asyncio.gather(
            *(tasks.resend(booking, CONFIRMATION, by=who, reason="again") for who in ("ben", "cho")),
            return_exceptions=True,
        )
        await house.until(both_ask)
    jobs = await both
    await house.work()

    assert {type(job) for job in jobs} == {UUID, DuplicateKey}
    assert len(house.mailbox.to(story.CUSTOMER)) == 3
    assert (await house.booking(booking)).confirmation_email_sent_at is not None


async def test_a_resend_is_refused_while_the_first_is_on_its_way(house: House) -> None:
    booking = await house.paid()

    with pytest.raises(BadInput, match="PENDING"):
        await tasks.resend(booking, CONFIRMATION, by="ben", reason="impatient")


async def test_an_unknown_type_cannot_be_resent(house: House) -> None:
    booking = await house.paid()

    said = await operator("resend", str(booking), "send_fax", "--by", "b", "--reason", "r", code=1)

    assert "Unknown job type: send_fax" in said


async def test_a_failed_job_is_retried_by_one_command(house: House) -> None:
    house.mailbox.script.tell("invalid", "invalid")
    await house.paid()
    await house.work()
    failed = house.job(CONFIRMATION)

    await operator("retry", str(failed.id), "--by", "ben", "--reason", "the mailbox is back")
    await house.work()

    retried = house.job(CONFIRMATION)
    assert (retried.status, retried.retry_of) == ("COMPLETED", failed.id)
    assert house.database.jobs(task=CONFIRMATION)[0].status == "FAILED"


# -- is the queue stuck ----------------------------------------------------------------------------------------------------


async def test_a_queue_that_moves_is_not_stuck(house: House) -> None:
    await house.paid()
    await house.work()

    assert (await operator("queue")).startswith("not stuck")


async def test_a_queue_that_waits_for_the_next_cron_call_is_not_stuck(house: House) -> None:
    await house.paid()
    house.advance(60)

    assert (await diagnosis.diagnose_queue()).what == "not stuck"


async def test_a_queue_that_nobody_processes_is_stuck(house: House) -> None:
    await house.paid()
    house.advance(180)

    said = await operator("queue", code=3)

    assert said.startswith("stuck: nobody processing")
    assert "3 jobs in line" in said
    assert "safe to do: start a worker" in said
    assert "look at:" in said


async def test_a_queue_where_everything_waits_to_be_tried_again_by_nobody_is_stuck(house: House) -> None:
    house.mailbox.script.tell("later", "later")
    house.invoicing.at_register.tell("closed")
    await house.paid()
    await house.work()
    house.advance(60 + 180)

    finding = await diagnosis.diagnose_queue()

    assert finding.what == "stuck: nobody processing"
    assert "3 jobs in line" in finding.found


async def test_a_paused_queue_is_processed_by_nobody(house: House) -> None:
    await house.paid()
    async with app.atransaction() as conn:
        await conn.execute(
            "select holdfast.pause_queue(%s, %s, %s)", (tasks.QUEUE, "ben", "the bank is down")
        )

    finding = await diagnosis.diagnose_queue()

    assert finding.what == "stuck: nobody processing"
    assert finding.mitigation == f"holdfast queue resume {tasks.QUEUE}"


async def test_a_queue_where_everything_failed_is_stuck(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMAIL_ADMIN_TO", "")
    house.invoicing.at_register.tell(*["closed"] * 3)
    await house.paid(customer_email="nobody")
    await house.work_for_minutes(2)

    said = await operator("queue", code=3)

    assert said.startswith("stuck: everything failed")
    assert "operator retry" in said


async def test_a_processor_that_died_with_jobs_in_its_hands_is_an_error(house: House) -> None:
    await house.paid()
    with crash_at("claimed"):
        await house.work()
    house.advance(60)

    finding = await diagnosis.diagnose_queue()

    assert finding.what == "stuck: processor error"
    assert "dead" in finding.found


async def test_a_type_that_no_processor_has_is_an_error(house: House, forgotten: str) -> None:
    worker = asyncio.create_task(app.run_worker(handle_signals=False, poll=0.05))
    try:
        await house.until(_a_worker_lives)
        finding = await diagnosis.diagnose_queue()
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    assert finding.what == "stuck: processor error"
    assert forgotten in finding.found


def _a_worker_lives() -> bool:
    return any(check.name == "workers" and check.verdict is Verdict.OK for check in examine(app))


async def test_a_database_that_is_away_is_named(house: House) -> None:
    away = {**os.environ, "HOLDFAST_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}
    command = [sys.executable, "-m", "apps.booking_side_effects.operator", "queue"]

    process = await asyncio.create_subprocess_exec(*command, env=away, stdout=subprocess.PIPE)
    said, _ = await process.communicate()

    assert process.returncode == 3
    assert said.startswith(b"stuck: database")
    assert b"safe to do:" in said


# -- why did this e-mail not go out ----------------------------------------------------------------------------------------


async def test_an_e_mail_that_was_sent_says_when(house: House) -> None:
    booking = await house.paid()
    await house.work()

    said = await operator("email", str(booking), CONFIRMATION)

    assert said.startswith("already sent")
    assert "operator resend" in said


async def test_an_e_mail_whose_job_failed_says_why(house: House) -> None:
    booking = await house.paid(customer_email="nobody")
    await house.work()

    said = await operator("email", str(booking), CONFIRMATION, code=3)

    assert said.startswith("job failed")
    assert "the e-mail address is invalid" in said
    assert f"operator retry {house.job(CONFIRMATION).id}" in said


async def test_an_e_mail_of_a_dry_run_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEND_EMAILS", "false")
    booking = await house.paid()
    await house.work()

    finding = await diagnosis.diagnose_email(booking, CONFIRMATION)

    assert finding.what == "dry run"
    assert finding.mitigation.startswith("set SEND_EMAILS=true, then:")


async def test_an_e_mail_whose_key_is_invalid_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_USER", "bookings")
    monkeypatch.setenv("SMTP_PASSWORD", "not the key")
    booking = await house.paid()
    await house.work()

    at_first = await diagnosis.diagnose_email(booking, CONFIRMATION)
    await house.work_for_minutes(2)
    at_last = await diagnosis.diagnose_email(booking, CONFIRMATION)

    assert (at_first.what, at_last.what) == ("key invalid", "key invalid")
    assert "SMTP_PASSWORD" in at_last.look_at


async def test_the_right_key_sends(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_USER", "bookings")
    monkeypatch.setenv("SMTP_PASSWORD", PASSWORD)
    await house.paid()

    await house.work()

    assert len(house.mailbox.messages) == 3


async def test_an_e_mail_on_its_way_says_when_it_is_tried_next(house: House) -> None:
    house.mailbox.script.tell("later", "later")
    booking = await house.paid()
    await house.work()

    finding = await diagnosis.diagnose_email(booking, CONFIRMATION)

    assert finding.what == "on its way"
    assert "next try at" in finding.found
    assert "451" in finding.found


async def test_an_e_mail_about_an_invoice_that_was_not_issued_says_why_not(house: House) -> None:
    house.invoicing.at_register.tell("closed")
    booking = await house.paid()
    await house.work()

    finding = await diagnosis.diagnose_email(booking, "send_invoice_ready")

    assert finding.what == "not queued"
    assert "issue_invoice is RETRY: RegisterClosed" in finding.found


async def test_an_e_mail_of_a_booking_that_is_not_paid_was_not_queued(house: House) -> None:
    finding = await diagnosis.diagnose_email(story.book(), CONFIRMATION)

    assert (finding.what, finding.is_well) == ("not queued", False)
    assert "is not paid" in finding.found


async def test_a_booking_that_does_not_exist_is_named(house: House) -> None:
    assert "no booking 999" in await operator("email", "999", CONFIRMATION, code=3)
