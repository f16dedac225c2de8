"""Usage: what tenants used in a month, and what they may."""

from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.segments import segment_of
from holdfast.interfaces.http.api.figures import (
    QuotaBody,
    QuotaQuery,
    QuotaView,
    StorageQuery,
    StorageView,
    UsageQuery,
    WeightBody,
    list_quotas,
    list_storage,
    list_usage,
    set_quota,
    set_weight,
)
from holdfast.interfaces.http.api.jobs import read_search
from holdfast.interfaces.http.api.keys import KeysQuery, list_keys
from holdfast.interfaces.http.dashboard.drawing import stacked
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, File, Form, Section
from holdfast.interfaces.http.dashboard.terms import jobs_with, term
from holdfast.interfaces.tables import as_csv
from holdfast.store import figures
from holdfast.store.access import database_clock
from holdfast.store.search import count_jobs
from holdfast.store.tenants import tenant_weights

usage = Section("usage")

MOST_TENANTS = 200
MOST_TASKS = 100
MOST_KEYS = 20
MOST_KEPT = 10_000
BARS_WIDTH, BARS_HEIGHT = 620, 120
MEASURES = {"enqueued": "jobs enqueued", "runs": "attempts begun", "run_seconds": "seconds run"}


class Month(Asked):
    """Which month; this one unless told."""

    month: Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")] | None = None

    def days(self, today: date) -> tuple[date, date]:
        """Give its first and its last day."""
        first = date.fromisoformat(f"{self.month}-01") if self.month else today.replace(day=1)
        return first, first.replace(day=monthrange(first.year, first.month)[1])


class Kept(Month):
    """Which month, and whose."""

    tenant: Annotated[str, Field(min_length=1, max_length=200)] | None = None


@usage.panel("figures", rest=5)
async def usage_bars(look: Look, asked: Month, tenant: str | None = None) -> dict[str, Any]:
    """Show what was used day by day."""
    whose = await _whose(look, tenant)
    today = (await look.call.ask(database_clock())).date()
    first, last = asked.days(today)
    days = await look.call.ask(figures.usage_by_day(first, last, whose))
    by_day = {day.of: day for day in days}
    all_days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    columns = [
        [getattr(by_day.get(day), name, 0) for name in ("completed", "failed", "cancelled")]
        for day in all_days
    ]
    seconds = [[float(getattr(by_day.get(day), "run_seconds", 0))] for day in all_days]
    drawn = zip(
        all_days,
        columns,
        seconds,
        stacked(columns, BARS_WIDTH, BARS_HEIGHT),
        stacked(seconds, BARS_WIDTH, BARS_HEIGHT),
        strict=True,
    )
    return {
        "days": list(drawn), "most_jobs": max(map(sum, columns)), "most_seconds": max(map(sum, seconds)), "total": _summed(days), "first": first, "last": last, "whose": whose,
        "months": _months(first, today), "kept": _kept(first, whose),
        "width": BARS_WIDTH, "height": BARS_HEIGHT, "step": BARS_WIDTH / len(all_days), "is_bound": look.principal.tenant is not None,
    }  # fmt: skip


@usage.panel("figures", rest=5)
async def usage_tenants(look: Look, asked: Month) -> dict[str, Any]:
    """List tenants, those first that ran the most."""
    whose = await _whose(look, None)
    today = (await look.call.ask(database_clock())).date()
    first, last = asked.days(today)
    found = await look.call.ask(figures.usage_by_tenant(first, last, whose, MOST_TENANTS + 1))
    running = await look.call.ask(figures.running_by_tenant())
    quotas = (await look.at(list_quotas, QuotaQuery())).items
    weights = {each.tenant: each.weight for each in await look.call.ask(tenant_weights())}
    stored = (await look.at(list_storage, StorageQuery(limit=1000))).items
    by_tenant = {each.tenant: each for each in stored}
    most = max((each.runs for each in found), default=0) or 1
    return {
        "tenants": [
            {
                "name": each.of, "used": each, "running": running.get(each.of, 0), "weight": weights.get(each.of, 1),
                "stored": by_tenant.get(each.of), "share": round(100 * each.runs / most, 1), "quotas": [_mark(quota) for quota in quotas if quota.tenant == each.of],
                "leads": None if each.of is None else f"/usage/{segment_of(each.of)}?{urlencode({'month': f'{first:%Y-%m}'})}",
            }
            for each in found[:MOST_TENANTS]
        ],
        "is_cut": len(found) > MOST_TENANTS,
        "measured": _measured(stored),
    }  # fmt: skip


@usage.panel("figures", rest=5)
async def usage_tasks(look: Look, asked: Month, tenant: str) -> dict[str, Any]:
    """List what a tenant's tasks used."""
    whose = await _whose(look, tenant)
    first, last = asked.days((await look.call.ask(database_clock())).date())
    found = await look.call.ask(figures.usage_by_task(first, last, whose, MOST_TASKS + 1))
    return {
        "tasks": [
            {"used": each, "leads": jobs_with(term("tenant", tenant), term("task", each.of)),
             "failures": jobs_with("status:failed", term("tenant", tenant), term("task", each.of))}
            for each in found[:MOST_TASKS]
        ],
        "is_cut": len(found) > MOST_TASKS,
    }  # fmt: skip


@usage.panel("figures", rest=5)
async def usage_limits(look: Look, tenant: str) -> dict[str, Any]:
    """Show what a tenant may use, and what runs of it now."""
    quotas = (await look.at(list_quotas, QuotaQuery(tenant=tenant))).items
    running = await look.call.ask(figures.running_by_tenant())
    weights = {each.tenant: each.weight for each in await look.call.ask(tenant_weights())}
    every = read_search(look.call, f"{term('tenant', tenant)} since:36500d")
    stored = (await look.at(list_storage, StorageQuery(tenant=tenant))).items
    return {
        "stored": stored[0] if stored else None,
        "kept": await look.call.ask(count_jobs(every, MOST_KEPT, looked_at=MOST_KEPT)),
        "sets": look.may(Scope.ADMIN) and look.principal.tenant is None,
        "measures": MEASURES,
        "quotas": [_mark(quota) for quota in quotas],
        "running": running.get(tenant, 0),
        "weight": weights.get(tenant, 1),
        "leads": jobs_with(term("tenant", tenant)),
        "runs": jobs_with("status:running", term("tenant", tenant)),
    }


@usage.panel()
async def tenant_keys(look: Look, tenant: str) -> dict[str, Any]:
    """List the keys of a tenant's programs, for admins."""
    await _whose(look, tenant)
    if not look.may(Scope.ADMIN):
        return {"keys": None, "is_cut": False}
    found = await look.at(list_keys, KeysQuery(tenant=tenant, limit=MOST_KEYS))
    return {"keys": found.items, "is_cut": found.next is not None}


usage.page("/usage", "Usage", usage_bars, usage_tenants, asked=Month)
usage.page(
    "/usage/{tenant:path}",
    "Usage",
    usage_bars,
    usage_limits,
    usage_tasks,
    tenant_keys,
    name="tenant",
    asked=Month,
)


class QuotaForm(Form):
    """What a tenant may use; without marks the quota goes."""

    measure: Literal["enqueued", "runs", "run_seconds"]
    period: Literal["day", "month"]
    task: Annotated[str, Field(max_length=200)] | None = None
    soft: Annotated[float, Field(gt=0, le=1e15)] | None = None
    hard: Annotated[float, Field(gt=0, le=1e15)] | None = None


@usage.action("/usage/{tenant:path}/quota")
async def change_quota(look: Look, form: QuotaForm, tenant: str) -> Done:
    """Set a quota, or take it away."""
    await look.at(set_quota, QuotaBody(tenant=tenant, **form.model_dump()))
    what = f"{MEASURES[form.measure]} a {form.period}"
    marks = [
        f"{name} at {mark:,.0f}"
        for name, mark in (("soft", form.soft), ("hard", form.hard))
        if mark is not None
    ]
    said = f"{what}: {' and '.join(marks)}" if marks else f"no quota of {what}"
    return Done(f"{tenant} has {said}.", f"/usage/{segment_of(tenant)}")


class WeightForm(Form):
    """How many jobs in its turn, and why."""

    weight: Annotated[int, Field(ge=1, le=1000)]
    reason: Annotated[str, Field(min_length=1, max_length=500)]


@usage.action("/usage/{tenant:path}/weight")
async def change_weight(look: Look, form: WeightForm, tenant: str) -> Done:
    """Say how many jobs a tenant gets in its turn."""
    await look.at(set_weight, tenant, WeightBody(weight=form.weight, reason=form.reason))
    jobs_a_turn = "1 job" if form.weight == 1 else f"{form.weight} jobs"
    return Done(f"{tenant} gets {jobs_a_turn} in its turn.", f"/usage/{segment_of(tenant)}")


@usage.download("/usage.csv")
async def keep_usage(look: Look, asked: Kept) -> File:
    """Write a month's usage by day, tenant and task."""
    first, last = asked.days((await look.call.ask(database_clock())).date())
    found = (await look.at(list_usage, UsageQuery(tenant=asked.tenant, first=first, last=last))).items
    head = list(type(found[0]).model_fields) if found else ["day", "tenant", "task"]
    rows = ([getattr(each, name) for name in head] for each in found)
    of = f"-{asked.tenant}" if asked.tenant else ""
    return File(f"usage-{first:%Y-%m}{of}.csv", "text/csv", as_csv(head, rows))


async def _whose(look: Look, tenant: str | None) -> str | None:
    await look.require(list_usage)
    return look.call.require_tenant(tenant)


def _measured(stored: Sequence[StorageView]) -> StorageView | None:
    """Give one of them, to say when all were measured, and how."""
    return stored[0] if stored else None


def _summed(found: Iterable[figures.Used]) -> figures.Used:
    rows = list(found)
    whole = [sum(getattr(row, name) for row in rows) for name in figures.Used._fields[1:]]
    return figures.Used(None, *whole)


def _months(shown: date, today: date) -> dict[str, Any]:
    """Give the months beside this one, and the last thirteen to pick from."""
    before = (shown - timedelta(days=1)).replace(day=1)
    after = (shown + timedelta(days=31)).replace(day=1)
    last: list[date] = [today.replace(day=1)]
    while len(last) < 13:  # noqa: PLR2004 - a year, and the same month of the year before
        last.append((last[-1] - timedelta(days=1)).replace(day=1))
    listed: Sequence[date] = last if shown in last else [*last, shown]
    return {"before": before, "after": after if after <= today else None, "listed": listed, "shown": shown}


def _kept(first: date, tenant: str | None) -> str:
    return "/usage.csv?" + urlencode({"month": f"{first:%Y-%m}", **({"tenant": tenant} if tenant else {})})


def _mark(quota: QuotaView) -> dict[str, Any]:
    """Say how much of a quota is used: the bar ends at its last mark, or at what was used if that is more."""
    end = max(quota.used, quota.hard or Decimal(0), quota.soft or Decimal(0)) or Decimal(1)
    last = quota.hard or quota.soft or Decimal(1)
    worst = (
        "bad"
        if quota.hard and quota.used >= quota.hard
        else "warning"
        if quota.soft and quota.used >= quota.soft
        else ""
    )
    return {
        "of": quota.task, "period": quota.period, "measure": MEASURES[quota.measure], "used": quota.used,
        "soft": quota.soft, "hard": quota.hard, "reached_until": quota.reached_until, "weight": worst,
        "filled": round(float(100 * quota.used / end), 1), "soft_at": None if quota.soft is None else round(float(100 * quota.soft / end), 1),
        "percent": round(float(100 * quota.used / last)),
    }  # fmt: skip
