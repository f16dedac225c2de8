"""/usage, /quotas, /tenants, /statistics: what was used, what may be, and how jobs fare."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.interfaces.http.api.words import INTEGRAL, Name, ReasonBody
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, Query, View
from holdfast.interfaces.http.problem import INVALID, Refusal
from holdfast.store import project as store
from holdfast.store.access import database_clock
from holdfast.store.tenants import set_tenant_weight

usage = Operations("usage")

LONGEST = timedelta(days=400)


class UsageView(View):
    """What one tenant's jobs of one task used on one day (UTC)."""

    day: date
    tenant: str | None
    task: str
    enqueued: int
    runs: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    attempts: int
    run_seconds: Decimal
    external_seconds: Decimal


class UsagesView(View):
    """Usage by day, tenant and task."""

    items: list[UsageView]


class UsageQuery(Query):
    """Whose, of what, and when; 31 days up to today unless told."""

    tenant: Name | None = None
    task: Name | None = None
    first: date | None = None
    last: date | None = None


@usage.get("/usage")
async def list_usage(call: ApiCall, query: UsageQuery) -> UsagesView:
    """List usage, at most 400 days of it."""
    last = query.last or (await call.ask(database_clock())).date()
    first = query.first or max(date.min + timedelta(days=31), last) - timedelta(days=31)
    if last - first > LONGEST:
        raise Refusal(INVALID, "ask for at most 400 days at a time")
    tenant = call.require_tenant(query.tenant)
    found = await call.ask(store.usage(tenant, query.task, first, last))
    return UsagesView(items=[UsageView.model_validate(each) for each in found])


class StorageView(View):
    """What the jobs of a tenant take in the tables, in bytes, without indexes; an estimate when only some jobs were looked at."""

    tenant: str | None
    jobs: int
    bytes: int
    job_bytes: int
    payload_bytes: int
    result_bytes: int
    history_bytes: int
    is_estimate: bool
    measured_at: datetime


class StoragesView(View):
    """Storage by tenant, those first that take the most."""

    items: list[StorageView]


class StorageQuery(Query):
    """Whose."""

    tenant: Name | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 200


@usage.get("/storage")
async def list_storage(call: ApiCall, query: StorageQuery) -> StoragesView:
    """List what the jobs of tenants take, as it was measured within the last minutes."""
    found = await call.ask(store.storage(call.require_tenant(query.tenant), query.limit))
    return StoragesView(items=[StorageView.model_validate(each) for each in found])


class QuotaView(View):
    """A tenant's marks and what is used of them."""

    tenant: str
    task: str | None
    period: str
    measure: str
    soft: Decimal | None
    hard: Decimal | None
    used: Decimal
    reached_until: datetime | None


class QuotasView(View):
    """Quotas."""

    items: list[QuotaView]


class QuotaQuery(Query):
    """Whose."""

    tenant: Name | None = None


class QuotaBody(Body):
    """Marks to set; without either the quota is removed."""

    tenant: Name
    task: Name | None = None
    period: Literal["day", "month"]
    measure: Literal["enqueued", "runs", "run_seconds"] = "enqueued"
    soft: Annotated[float, Field(gt=0, le=1e15)] | None = None
    hard: Annotated[float, Field(gt=0, le=1e15)] | None = None


@usage.get("/quotas")
async def list_quotas(call: ApiCall, query: QuotaQuery) -> QuotasView:
    """List quotas with what is used of them."""
    found = await call.ask(store.quotas(call.require_tenant(query.tenant)))
    return QuotasView(items=[QuotaView.model_validate(each) for each in found])


@usage.put("/quotas", scope=Scope.ADMIN, for_all=True)
async def set_quota(call: ApiCall, body: QuotaBody) -> QuotasView:
    """Set a tenant's marks, or remove them."""
    soft, hard = (None if mark is None else Decimal(str(mark)) for mark in (body.soft, body.hard))
    await call.ask(store.set_quota(body.tenant, body.task, body.period, body.measure, soft, hard))
    await call.record(
        "quota.set", body.tenant, task=body.task, period=body.period, measure=body.measure,
        soft=body.soft, hard=body.hard,
    )  # fmt: skip
    found = await call.ask(store.quotas(body.tenant))
    return QuotasView(items=[QuotaView.model_validate(each) for each in found])


class WeightBody(ReasonBody):
    """How many jobs a tenant gets in its turn; 1 is what everybody has."""

    weight: Annotated[int, Field(ge=1, le=1000), INTEGRAL]


class WeightView(View):
    """How many jobs a tenant gets in its turn."""

    tenant: str
    weight: int


@usage.put("/tenants/{tenant}/weight", scope=Scope.ADMIN, for_all=True)
async def set_weight(call: ApiCall, tenant: str, body: WeightBody) -> WeightView:
    """Say how many jobs a tenant gets in its turn, when several wait for one queue."""
    await call.ask(set_tenant_weight(tenant, body.weight))
    await call.record("tenant.weight", tenant, body.reason, weight=body.weight)
    return WeightView(tenant=tenant, weight=body.weight)


class StatisticsView(View):
    """How jobs fared; times in seconds, percentiles off by at most 9 %."""

    task: str | None
    enqueued: int
    started: int
    completed: int
    failed: int
    cancelled: int
    retried: int
    success_rate: float | None
    mean_wait: float | None
    p50_wait: float | None
    p95_wait: float | None
    mean_run: float | None
    p50_run: float | None
    p95_run: float | None
    retries: dict[int, int]


class AllStatisticsView(View):
    """Statistics of all tasks together, or of each."""

    items: list[StatisticsView]


class StatisticsQuery(Query):
    """Over how many hours, and whether task by task."""

    hours: Annotated[float, Field(gt=0, le=24 * 90)] = 24
    task: Name | None = None
    by_task: bool = False


@usage.get("/statistics", for_all=True)
async def show_statistics(call: ApiCall, query: StatisticsQuery) -> AllStatisticsView:
    """Tell how jobs fared over the last hours."""
    since = await call.ask(database_clock()) - timedelta(hours=query.hours)
    found = await call.ask(store.statistics(since, query.task, by_task=query.by_task))
    return AllStatisticsView(items=[StatisticsView.model_validate(each) for each in found])
