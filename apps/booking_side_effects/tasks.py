"""The four jobs of a paid booking, and how they are made: one per booking and type."""

from typing import Any
from uuid import UUID

from apps.booking_side_effects import bookings, emails, invoicing
from apps.booking_side_effects.app import app
from apps.booking_side_effects.logs import subject_of, tell
from apps.booking_side_effects.settings import Settings
from holdfast import BadInput, Context, Fail, Rules

QUEUE = "bookings"
DRY_RUN = "dry run: SEND_EMAILS is not true, nothing was sent"
ALREADY_SENT = "already sent"
SWITCHED_OFF = "INVOICING_ENABLED is not true: no invoice was issued"

# One job per booking and type: a failed one makes room for another, a completed one never.
# Three attempts, a minute apart.
JOB: dict[str, Any] = {
    "queue": QUEUE, "unique": ["booking_id"], "key_scope": "success", "retries": 2, "backoff": 60, "timeout": 60,
}  # fmt: skip
# The service says 403 for a permission that somebody has to give, and 409 when the register closed a moment ago.
MAY_PASS = Rules(recoverable=(403, 409))


# -- the jobs --------------------------------------------------------------------------------------------------------------


@app.task(**JOB, errors=MAY_PASS)
async def issue_invoice(ctx: Context, booking_id: int, stripePaymentIntentId: str) -> str:  # noqa: N803 - the payload's word
    """Issue the invoice, store its number and link on the booking, and queue the e-mail about it."""
    settings = Settings.read()
    booking = await bookings.load(booking_id)
    if booking.invoice_number is not None and booking.invoice_pdf_url is not None:
        issued = invoicing.Issued(booking.invoice_number, booking.invoice_pdf_url)
    elif not settings.invoicing_enabled:
        return SWITCHED_OFF
    else:
        issued = await _issue(ctx, booking, settings, stripePaymentIntentId)
    async with ctx.transaction() as conn:
        await bookings.store_invoice(conn, booking_id, issued.number, issued.pdf_url)
        await app.aemit(_invoice_stored(booking_id), conn=conn)
        await create_jobs(conn, booking_id, [send_invoice_ready.using(subject=ctx.subject).job(booking_id)])
        ctx.set_result(issued.number)
    return issued.number


async def _issue(
    ctx: Context, booking: bookings.Booking, settings: Settings, payment_intent: str
) -> invoicing.Issued:
    async with invoicing.connect(settings) as service:
        client = await ctx.step(
            "find or create the client", invoicing.find_or_create_client, service, booking
        )
        await invoicing.check_register(service)  # no step: the answer of a minute ago says nothing
        document = invoicing.build_document(booking, client, settings.document_type, payment_intent)
        return await ctx.step("post the document", invoicing.post_once, service, document)


@app.task(**JOB)
async def send_customer_confirmation(ctx: Context, booking_id: int) -> str:
    """Tell the customer that the booking is confirmed."""
    return await _send(ctx, booking_id, emails.customer_confirmation)


@app.task(**JOB)
async def send_internal_confirmation(ctx: Context, booking_id: int) -> str:
    """Tell operations what was booked."""
    return await _send(ctx, booking_id, emails.internal_confirmation)


@app.task(**JOB)
async def send_invoice_ready(ctx: Context, booking_id: int) -> str:
    """Give the customer a link to the invoice, once there is one; until then, wait without a worker."""
    if not await ctx.step("look for the invoice", bookings.has_invoice, booking_id):
        await ctx.event(_invoice_stored(booking_id))
    return await _send(ctx, booking_id, emails.invoice_ready)


async def _send(ctx: Context, booking_id: int, write: emails.Writer) -> str:
    """Send an e-mail and stamp the booking. A crash between the two sends it again: better twice than never."""
    settings = Settings.read()
    booking = await bookings.load(booking_id)
    if booking.sent_at(ctx.task) is not None:
        return _skip(ctx, booking_id, ALREADY_SENT)
    if not settings.send_emails:
        return _skip(ctx, booking_id, DRY_RUN)
    try:
        await emails.send(write(booking, settings), ctx.job_id, settings)
    except Exception as error:
        tell("email:error", ctx.job_id, booking_id, ctx.task, error=f"{type(error).__name__}: {error}")
        raise
    async with ctx.transaction() as conn:
        await bookings.stamp(conn, booking_id, ctx.task)
        ctx.set_result("sent")
    tell("email:sent", ctx.job_id, booking_id, ctx.task)
    return "sent"


def _skip(ctx: Context, booking_id: int, why: str) -> str:
    tell("email:skipped", ctx.job_id, booking_id, ctx.task, reason=why)
    return why


def _invoice_stored(booking_id: int) -> str:
    return f"invoice stored: {booking_id}"


# -- making them -----------------------------------------------------------------------------------------------------------


async def create_jobs(conn: Any, booking_id: int, jobs: list[Any]) -> list[UUID]:
    """Make jobs in the caller's transaction; those that there are already stay as they are."""
    made = await app.aenqueue_many(jobs, conn=conn)
    born = [(handle.id, job.task) for handle, job in zip(made, jobs, strict=True) if handle.created]
    types = [job_type for _, job_type in born]
    for job_id, job_type in born:
        tell("jobs:created", job_id, booking_id, job_type, types=types)
    return [handle.id for handle in made]


async def paid(conn: Any, booking_id: int, payment_intent: str) -> None:
    """Confirm a booking and make the three jobs that its payment leads to."""
    await bookings.confirm(conn, booking_id, payment_intent)
    subject = subject_of(booking_id)
    await create_jobs(conn, booking_id, [
        issue_invoice.using(subject=subject).job(booking_id, payment_intent),
        send_customer_confirmation.using(subject=subject).job(booking_id),
        send_internal_confirmation.using(subject=subject).job(booking_id),
    ])  # fmt: skip


_KEEP_RESEND = """
insert into booking_side_effects.resend (booking_id, type, asked_by, reason, job_id)
values (%s, %s, %s, %s, %s)
"""


async def resend(booking_id: int, job_type: str, *, by: str, reason: str) -> UUID:
    """Have a job done again by a new one: clear the stamp, queue, and write down who wanted it and why."""
    task: Any = app.tasks.get(job_type)
    if task is None:
        raise BadInput(f"Unknown job type: {job_type}")
    booking = await bookings.load(booking_id)
    if booking.status != "CONFIRMED":
        raise BadInput(f"booking {booking_id} is {booking.status}: there is nothing to do for it yet")
    found = await app.ajobs(f"subject:{subject_of(booking_id)} task:{job_type}")
    if under_way := [job for job in found.jobs if job.finished_at is None]:
        raise BadInput(f"job {under_way[0].id} is {under_way[0].status}: it will be done without another")
    arguments = [booking_id, booking.payment_intent] if job_type == issue_invoice.name else [booking_id]
    # A key of its own, for the first job's is kept by its success. Of two who ask at once one is refused, and clears no stamp.
    key = f"{booking_id}:after:{found.jobs[0].id if found.jobs else None}"
    again = task.using(key=key, on_conflict="raise", subject=subject_of(booking_id), requested_by=by).job(
        *arguments
    )
    async with app.atransaction() as conn:
        if job_type in bookings.STAMPS:
            await bookings.clear_stamp(conn, booking_id, job_type)
        [job_id] = await create_jobs(conn, booking_id, [again])
        await conn.execute(_KEEP_RESEND, (booking_id, job_type, by, reason, job_id))
    return job_id


# -- types that the code does not have -------------------------------------------------------------------------------------


async def adopt_unknown_types() -> None:
    """Take in the types of waiting jobs that the code does not have: a worker would leave them for one that has."""
    for name in (await app.aline(QUEUE)).tasks.keys() - app.tasks.keys():
        app.task(name=name, queue=QUEUE)(_fail_unknown)


async def _fail_unknown(ctx: Context, **_payload: Any) -> None:
    raise Fail(f"Unknown job type: {ctx.task}")
