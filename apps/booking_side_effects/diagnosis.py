"""What an operator asks: is the queue stuck and why, and why did this e-mail not go out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from apps.booking_side_effects import bookings
from apps.booking_side_effects.app import app
from apps.booking_side_effects.logs import subject_of
from apps.booking_side_effects.settings import Settings
from apps.booking_side_effects.tasks import DRY_RUN, QUEUE, issue_invoice, send_invoice_ready
from holdfast import Job, Line, Status
from holdfast.server import Check, Verdict, examine

# Two calls of the cron: what waits longer than that is not being processed.
LONG_WAIT = timedelta(minutes=2)
OPERATOR = "python -m apps.booking_side_effects.operator"
SIGNED = "--by YOU --reason WHY"


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer: what is so, the facts behind it, what to look at, and what can be done without harm."""

    what: str
    found: str
    look_at: str = ""
    mitigation: str = ""
    is_well: bool = False

    def __str__(self) -> str:
        """Write it for a person."""
        lines = [self.what, f"  found: {self.found}"]
        lines += [f"  look at: {self.look_at}"] if self.look_at else []
        return "\n".join([*lines, f"  safe to do: {self.mitigation}"] if self.mitigation else lines)


# -- the queue -------------------------------------------------------------------------------------------------------------


class Cause(NamedTuple):
    """Why a queue can be stuck: the checks of Holdfast's that show it, what to look at, and what can be done without harm."""

    what: str
    checks: tuple[str, ...]
    look_at: str
    mitigation: str


CAUSES = (
    Cause(
        "database",
        ("database", "schema"),
        "PostgreSQL's own log, and how many connections are left",
        "bring the database back: nothing is lost, and workers go on by themselves",
    ),
    Cause(
        "everything failed",
        ("failures",),
        "the error of a failed job: holdfast job list --status failed, then holdfast job show ID",
        f"mend the cause, then: {OPERATOR} retry JOB {SIGNED}",
    ),
    Cause(
        "processor error",
        ("dead workers", "tasks"),
        "the processors' logs, and holdfast worker list",
        "start a worker, or call the cron route: it takes back what the dead held and fails unknown types",
    ),
    Cause(
        "nobody processing",
        ("paused queues",),
        "who paused it and why: holdfast queue list",
        f"holdfast queue resume {QUEUE}",
    ),
    Cause(
        "nobody processing",
        ("workers", "queues"),
        "whether a worker runs (holdfast worker list), and what the cron service says of its last calls",
        "start a worker, or call the cron route by hand: both are safe at any time",
    ),
    Cause(
        "processor error",
        ("oldest wait",),
        "the processors' logs: claim:refused, job:lease_lost, database:unavailable",
        "restart the workers with SIGTERM: they finish what runs and give back the rest",
    ),
)


async def diagnose_queue() -> Finding:
    """Say whether the queue is stuck, and why."""
    checks = examine(app)
    is_there = any(check.name == "schema" and check.verdict is Verdict.OK for check in checks)
    return judge(checks, await app.aline(QUEUE) if is_there else None)


def judge(checks: Sequence[Check], line: Line | None) -> Finding:
    """Name the first cause that there is; that nobody processes is one when jobs have waited for too long."""
    is_late = line is not None and line.oldest_wait > LONG_WAIT
    for cause in CAUSES:
        for check in checks:
            if check.name in cause.checks and _shows(check, is_late=is_late):
                return Finding(f"stuck: {cause.what}", check.found, cause.look_at, cause.mitigation)
    return Finding("not stuck", is_well=True, found=f"{line.waiting if line else 0} jobs wait")


def _shows(check: Check, *, is_late: bool) -> bool:
    match check.name:
        case "paused queues":
            return check.verdict is not Verdict.OK
        case "workers" | "queues":
            return is_late and check.verdict is Verdict.FAIL  # between two calls of the cron nobody is there
        case "oldest wait":
            return is_late
        case _:
            return check.verdict is Verdict.FAIL


# -- an e-mail -------------------------------------------------------------------------------------------------------------


async def diagnose_email(booking_id: int, job_type: str) -> Finding:
    """Say why an e-mail did not go out, or that it did."""
    async with app.atransaction() as conn:
        booking = await bookings.find(conn, booking_id)
    if booking is None:
        return Finding("no such booking", f"there is no booking {booking_id}")
    resend = f"{OPERATOR} resend {booking_id} {job_type} {SIGNED}"
    if (sent := booking.sent_at(job_type)) is not None:
        found = f"it was sent at {sent:%Y-%m-%d %H:%M:%S %Z} and will not be sent again"
        return Finding(
            "already sent",
            found,
            "the mailbox's spam folder, and the mail server's log",
            resend,
            is_well=True,
        )
    job = await _newest(booking_id, job_type)
    return await _without_job(booking, job_type, resend) if job is None else _of_job(job, resend)


async def _newest(booking_id: int, job_type: str) -> Job | None:
    found = await app.ajobs(f"subject:{subject_of(booking_id)} task:{job_type}", limit=1)
    return found.jobs[0] if found.jobs else None


async def _without_job(booking: bookings.Booking, job_type: str, resend: str) -> Finding:
    if booking.status == "PENDING":
        found = f"booking {booking.id} is not paid"
        return Finding("not queued", found, "Stripe's dashboard, and holdfast webhook list")
    if job_type == send_invoice_ready.name and (invoice := await _newest(booking.id, issue_invoice.name)):
        found = f"there is no invoice: {issue_invoice.name} is {invoice.status}{_said(invoice)}"
        return Finding(
            "not queued", found, f"holdfast job show {invoice.id}", f"if it failed: {_retry(invoice)}"
        )
    return Finding(
        "not queued", "no job was ever made for it", "holdfast webhook list --status failed", resend
    )


def _of_job(job: Job, resend: str) -> Finding:
    found, look_at = f"job {job.id} is {job.status}{_said(job)}", f"holdfast job show {job.id}"
    if job.status is not Status.COMPLETED and "AuthenticationError" in _said(job):
        mend = f"set the right key and restart; if the job failed: {_retry(job)}"
        return Finding("key invalid", found, "SMTP_USER and SMTP_PASSWORD of the workers", mend)
    match job.status:
        case Status.FAILED:
            return Finding("job failed", found, look_at, _retry(job))
        case Status.COMPLETED if job.result == DRY_RUN:
            switch = "SEND_EMAILS is true now" if Settings.read().send_emails else "set SEND_EMAILS=true"
            return Finding("dry run", DRY_RUN, look_at, f"{switch}, then: {resend}")
        case Status.COMPLETED | Status.CANCELLED:
            return Finding("not sent", found, look_at, resend)
        case Status.WAITING:
            return Finding("waits for the invoice", found, look_at, is_well=True)
        case _:
            due = f", next try at {job.due_at:%H:%M:%S %Z}" if job.due_at else ""
            return Finding("on its way", f"{found}{due}", look_at, is_well=True)


def _said(job: Job) -> str:
    return f": {job.error['type'].rpartition('.')[2]}: {job.error['message']}" if job.error else ""


def _retry(job: Job) -> str:
    return f"{OPERATOR} retry {job.id} {SIGNED}"
