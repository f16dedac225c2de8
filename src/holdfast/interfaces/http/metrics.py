"""/metrics, for Prometheus: what the projector counted, read by whoever has a key that reads and is bound to no tenant."""

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from holdfast.domain import metrics as names
from holdfast.domain.access import Scope
from holdfast.domain.metrics import Exposition, Metric, gauges
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.problem import FORBIDDEN, UNAUTHORIZED, Refusal, refusal_of
from holdfast.store.access import enter
from holdfast.store.metrics import (
    Duration,
    Presence,
    Tally,
    durations,
    line_ages,
    presence,
    refusals,
    tallies,
)

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def _read(app: "Holdfast", access: Access, request: Request) -> str:
    principal = await access.caller(request)
    if principal is None:
        raise Refusal(UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
    if not principal.may(Scope.READ) or principal.tenant is not None:
        raise Refusal(FORBIDDEN, "this needs the scope read, and concerns all tenants")
    async with app.link.atransaction() as transaction:
        await transaction.perform(enter(principal.sees))
        tallied, lasted = await transaction.perform(tallies()), await transaction.perform(durations())
        ages, present = await transaction.perform(line_ages()), await transaction.perform(presence())
        refused = await transaction.perform(refusals())
    return write(tallied, lasted, ages, present, refused)


def write(
    tallied: list[Tally], lasted: list[Duration], ages: dict[str, float], present: Presence, refused: int
) -> str:
    """Write everything down."""
    text = Exposition()
    states = [({"state": one.state, "queue": one.queue, "task": one.task}, one) for one in tallied]
    gauges(names.JOBS_TOTAL, ((labels, one.entered) for labels, one in states), text)
    gauges(names.JOBS_PRESENT, ((labels, one.present) for labels, one in states), text)
    gauges(names.QUEUE_OLDEST, (({"queue": queue}, age) for queue, age in ages.items()), text)
    _histograms(names.JOB_WAIT, (one for one in lasted if one.what == "wait"), text)
    _histograms(names.JOB_RUN, (one for one in lasted if one.what == "run"), text)
    gauges(names.APPROVALS_PENDING, [({}, present.approvals)], text)
    gauges(names.WORKERS, [({}, present.workers)], text)
    gauges(names.REFUSED_WRITES, [({}, refused)], text)
    return text.text


def _histograms(metric: Metric, rows: Iterable[Duration], into: Exposition) -> None:
    into.begin(metric)
    for (queue, task), some in groupby(rows, key=lambda one: (one.queue, one.task)):
        buckets = list(some)
        counts = {one.bucket: one.jobs for one in buckets}
        seconds = sum(one.seconds for one in buckets)
        into.histogram(metric.name, {"queue": queue, "task": task}, counts, seconds)


def metrics(app: "Holdfast", access: Access) -> list[BaseRoute]:
    """Make the route."""

    async def answer(request: Request) -> Response:
        try:
            text = await _read(app, access, request)
        except Refusal as refusal:
            return refusal.response
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            return refusal_of(error).response
        return Response(text, headers={"Cache-Control": "no-store"}, media_type=MEDIA_TYPE)

    return [Route("/metrics", answer, methods=["GET"])]
