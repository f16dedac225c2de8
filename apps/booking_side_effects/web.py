"""The product's web: Stripe's webhook, the cron route, and the links to invoices."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from hmac import compare_digest
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from apps.booking_side_effects import bookings, invoicing, tasks
from apps.booking_side_effects.app import app
from apps.booking_side_effects.links import opens
from apps.booking_side_effects.settings import Settings
from holdfast import DatabaseUnavailable
from holdfast.server import Stripe, WebhookEvent, webhooks

MOST_JOBS = 10
SECONDS = 20.0  # of one call: claims for half of it, and what runs has the other half


async def process() -> int:
    """Work here and now on what waits; gives how many jobs ran. Safe beside workers and beside itself."""
    await tasks.adopt_unknown_types()
    ticked = await app.atick(most_jobs=MOST_JOBS, seconds=SECONDS)
    return 0 if ticked is None else ticked.ran  # None: this process is at it already


# -- the payment -----------------------------------------------------------------------------------------------------------


async def take_payment(event: WebhookEvent, conn: Any) -> None:
    """Confirm the booking that a completed checkout has paid; all else is the jobs' to do."""
    session = event.body["data"]["object"]
    if session["payment_status"] != "paid":
        return  # another event comes when the money does
    booking_id = int(session["metadata"]["bookingId"])
    if await bookings.find(conn, booking_id) is None:
        raise LookupError(f"booking {booking_id} was paid and does not exist")
    await tasks.paid(conn, booking_id, session["payment_intent"])


async def kick(_event: WebhookEvent) -> None:
    """Start at once. Stripe has its answer; Holdfast ends this after two seconds, and whatever it does wrong is logged."""
    await process()


app.webhook("stripe", verify=Stripe(), on={"checkout.session.completed": take_payment}, after=kick)


# -- the cron route --------------------------------------------------------------------------------------------------------


async def cron(request: Request) -> Response:
    """Work on a few jobs for whoever knows the secret."""
    given = request.headers.get("x-cron-secret") or request.query_params.get("token", "")
    if not _is_secret(given, Settings.read().cron_secret):
        return JSONResponse({"ok": False, "error": "unauthorized"}, 401)
    processed = await process()
    line = await app.aline(tasks.QUEUE)
    as_of = line.now.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return JSONResponse(
        {"ok": True, "processed": processed, "remainingPending": line.waiting, "asOfUtc": as_of},
        headers={"cache-control": "no-store"},
    )


def _is_secret(given: str, secret: str | None) -> bool:
    """Compare in constant time, lengths included."""
    return secret is not None and compare_digest(_digest(given), _digest(secret))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# -- the invoice -----------------------------------------------------------------------------------------------------------


async def invoice_pdf(request: Request) -> Response:
    """Open an invoice for whoever has a token of that very booking."""
    settings, booking_id = Settings.read(), request.path_params["id"]
    async with app.atransaction() as conn:
        booking = await bookings.find(conn, booking_id)
    token = request.query_params.get("t", "")
    # Without a valid token nobody learns which bookings exist.
    if booking is None or not opens(settings.link_secret, token, booking_id, booking.read_at):
        return JSONResponse({"error": "this link is invalid or has expired"}, 403)
    if booking.invoice_pdf_url is None:
        return JSONResponse({"error": "there is no invoice yet"}, 404)
    try:
        pdf = await invoicing.fetch_pdf(settings, booking.invoice_pdf_url)
    except httpx.HTTPError:
        return JSONResponse({"error": "the invoicing service does not answer"}, 502)
    return Response(pdf, media_type="application/pdf", headers={"cache-control": "private, no-store"})


async def _unavailable(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"ok": False, "error": "the database does not answer"}, 503)


@asynccontextmanager
async def _lifespan(_web: Starlette) -> AsyncIterator[None]:
    yield
    await app.aclose()


web = Starlette(
    routes=[
        Route("/api/cron/process-booking-jobs", cron, methods=["GET", "POST"]),
        Route("/api/invoices/{id:int}/pdf", invoice_pdf),
        Mount("/", webhooks(app)),
    ],
    exception_handlers={DatabaseUnavailable: _unavailable},
    lifespan=_lifespan,
)
