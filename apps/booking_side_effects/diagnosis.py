"""What an operator asks: is the queue stuck and why, and why did this e-mail not go out."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.booking_side_effects import bookings
from apps.booking_side_effects.app import app
from apps.booking_side_effects.logs import subject_of
from apps.booking_side_effects.settings import Settings
from apps.booking_side_effects.tasks import DRY_RUN, QUEUE, issue_invoice, send_invoice_ready
from holdfast import Job, Status
from holdfast.server import Check, Verdict, examine

# Two calls of the cron: what waits longer than that is not being processed.
LONG_WAIT = timedelta(minutes=2)
OPERATOR = "python -m apps.booking_side_effects.operator"

_LINE = """
select count(*), min(coalesce(due_at, created_at)), holdfast.clock()
  from holdfast.job
 where queue = %s and status in ('PENDING', 'RETRY')
"""


@dataclass(frozen=True, slots=True)
class Line:
    """How many jobs wait, since when the first of them could have started, and when that was so."""

    waiting: int
    oldest: datetime | None
    as_of: datetime

    @property
    def wait(self) -> timedelta:
        """How long the first has waited for somebody."""
        return max(self.as_of - (self.oldest or self.as_of), timedelta())


async def look_at_line() -> Line:
    """Count the jobs that wait."""
    async with app.atransaction() as conn:
        return Line(*await (await conn.execute(_LINE, (QUEUE,))).fetchone())


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer: what is so, the facts behind it, what to look at, and what can be done without harm."""

    what: str
    is_well: bool
    found: str
    look_at: str = ""
    mitigation: str = ""

    def __str__(self) -> str:
        """Write it for a person."""
        lines = [self.what, f"  found: {self.found}"]
        lines += [f"  look at: {self.look_at}"] if self.look_at else []
        return "\n".join([*lines, f"  safe to do: {self.mitigation}"] if self.mitigation else lines)


# -- the queue -------------------------------------------------------------------------------------------------------------


async def diagnose_queue() -> Finding:
    """Say whether the queue is stuck, and why."""
    failed = {check.name: check for check in examine(app) if check.verdict is not Verdict.OK}
    if away := _first(failed, Verdict.FAIL, ("database", "schema")):
        return Finding(
            "stuck: database",
            is_well=False,
            found=away.found,
            look_at=away.advice or "PostgreSQL's own log, and how many connections are left",
            mitigation="bring the database back: nothing is lost, and workers go on by themselves",
        )
    return judge(failed, await look_at_line())


def judge(failed: dict[str, Check], line: Line) -> Finding:
    """Name the cause, the most general first."""
    waits = f"{line.waiting} jobs wait, the first of them for {line.wait.total_seconds():.0f} s"
    is_late = line.waiting > 0 and line.wait > LONG_WAIT
    if everything := _first(failed, Verdict.FAIL, ("failures",)):
        return Finding(
            "stuck: everything failed",
            is_well=False,
            found=everything.found,
            look_at="the error of a failed job: holdfast job list --status FAILED, then holdfast job show ID",
            mitigation=f"mend the cause, then: {OPERATOR} retry JOB --by YOU --reason WHY",
        )
    if broken := _first(failed, Verdict.FAIL, ("dead workers", "tasks")):
        return Finding(
            "stuck: processor error",
            is_well=False,
            found=broken.found,
            look_at="the processors' logs, and holdfast worker list",
            mitigation="start a worker, or call the cron route: it takes back what the dead held and fails unknown types",
        )
    if paused := _first(failed, Verdict.WARN, ("paused queues",)):
        return Finding(
            "stuck: nobody processing",
            is_well=False,
            found=paused.found,
            look_at="who paused it and why: holdfast queue list",
            mitigation=f"holdfast queue resume {QUEUE}",
        )
    if not is_late:
        return Finding("not stuck", is_well=True, found=waits)
    if nobody := _first(failed, Verdict.FAIL, ("workers", "queues")):
        return Finding(
            "stuck: nobody processing",
            is_well=False,
            found=f"{nobody.found}; {waits}",
            look_at="whether a worker runs (holdfast worker list), and what the cron service says of its last calls",
            mitigation="start a worker, or call the cron route by hand: both are safe at any time",
        )
    return Finding(
        "stuck: processor error",
        is_well=False,
        found=f"workers live, and yet {waits}",
        look_at="the workers' logs: claim:refused, job:lease_lost, database:unavailable",
        mitigation="restart the workers with SIGTERM: they finish what runs and give back the rest",
    )


def _first(failed: dict[str, Check], verdict: Verdict, names: Iterable[str]) -> Check | None:
    found = (failed[name] for name in names if name in failed)
    return next((check for check in found if check.verdict in {verdict, Verdict.FAIL}), None)


# -- an e-mail -------------------------------------------------------------------------------------------------------------


async def diagnose_email(booking_id: int, job_type: str) -> Finding:
    """Say why an e-mail did not go out, or that it did."""
    async with app.atransaction() as conn:
        booking = await bookings.find(conn, booking_id)
    if booking is None:
        return Finding("no such booking", is_well=False, found=f"there is no booking {booking_id}")
    if (sent := booking.sent_at(job_type)) is not None:
        return Finding(
            "already sent",
            is_well=True,
            found=f"it was sent at {sent:%Y-%m-%d %H:%M:%S %Z} and will not be sent again",
            look_at="the mailbox's spam folder, and the mail server's log",
            mitigation=_resend(booking_id, job_type),
        )
    job = await _newest(booking_id, job_type)
    if job is None:
        return await _not_queued(booking, job_type)
    return _of_job(job, booking_id, job_type)


async def _newest(booking_id: int, job_type: str) -> Job | None:
    found = await app.ajobs(f"subject:{subject_of(booking_id)} task:{job_type}", limit=1)
    return found.jobs[0] if found.jobs else None


async def _not_queued(booking: bookings.Booking, job_type: str) -> Finding:
    if booking.status == "PENDING":
        return Finding(
            "not queued",
            is_well=False,
            found=f"booking {booking.id} is not paid",
            look_at="Stripe's dashboard, and holdfast webhook list",
        )
    if job_type == send_invoice_ready.name and (invoice := await _newest(booking.id, issue_invoice.name)):
        return Finding(
            "not queued",
            is_well=False,
            found=f"there is no invoice: {issue_invoice.name} is {invoice.status}{_said(invoice)}",
            look_at=f"holdfast job show {invoice.id}",
            mitigation=f"when it has failed: {_retry(invoice)}",
        )
    return Finding(
        "not queued",
        is_well=False,
        found="no job was ever made for it",
        look_at="holdfast webhook list --status failed",
        mitigation=_resend(booking.id, job_type),
    )


def _of_job(job: Job, booking_id: int, job_type: str) -> Finding:
    look_at = f"holdfast job show {job.id}"
    if job.status is not Status.COMPLETED and (job.error or {}).get("type", "").endswith(
        "AuthenticationError"
    ):
        return Finding(
            "key invalid",
            is_well=False,
            found=f"the mail service refuses our key, job {job.id} is {job.status}{_said(job)}",
            look_at="SMTP_USER and SMTP_PASSWORD of the workers",
            mitigation=f"set the right key and restart; when the job has failed: {_retry(job)}",
        )
    match job.status:
        case Status.FAILED:
            said = f"job {job.id}{_said(job)}"
            return Finding("job failed", is_well=False, found=said, look_at=look_at, mitigation=_retry(job))
        case Status.COMPLETED if job.result == DRY_RUN:
            switch = "set SEND_EMAILS=true" if not Settings.read().send_emails else "SEND_EMAILS is true now"
            again = f"{switch}, then: {_resend(booking_id, job_type)}"
            return Finding("dry run", is_well=False, found=DRY_RUN, look_at=look_at, mitigation=again)
        case Status.COMPLETED | Status.CANCELLED:
            again = _resend(booking_id, job_type)
            return Finding(
                "not sent",
                is_well=False,
                found=f"job {job.id} is {job.status}",
                look_at=look_at,
                mitigation=again,
            )
        case Status.WAITING:
            return Finding(
                "waits for the invoice", is_well=True, found=f"job {job.id} is {job.status}", look_at=look_at
            )
        case _:
            due = f", next try at {job.due_at:%H:%M:%S %Z}" if job.due_at else ""
            return Finding(
                "on its way",
                is_well=True,
                found=f"job {job.id} is {job.status}{due}{_said(job)}",
                look_at=look_at,
            )


def _said(job: Job) -> str:
    return f": {job.error['type'].rpartition('.')[2]}: {job.error['message']}" if job.error else ""


def _retry(job: Job) -> str:
    return f"{OPERATOR} retry {job.id} --by YOU --reason WHY"


def _resend(booking_id: int, job_type: str) -> str:
    return f"{OPERATOR} resend {booking_id} {job_type} --by YOU --reason WHY"
