"""`holdfast stats`, `holdfast usage` and `holdfast quota`: what jobs did and what they used."""

from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.moments import Duration
from holdfast.interfaces.cli.output import Column, dim, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.feed import Statistics


@click.command(cls=Command)
@click.option(
    "--since", type=Duration(), default="24h", show_default=True, help="How far back: 90s, 5m, 2h, 7d."
)
@click.option("--task", help="Of this task only.")
@click.option(
    "--queues", "by_queue", is_flag=True, help="Jobs by queue and status now, with the age of the oldest."
)
def stats(since: timedelta, task: str | None, by_queue: bool) -> None:
    """Show success rate, durations, retries and throughput by task; answered from per-minute figures, not from jobs."""
    if by_queue:
        _standings()
        return
    from holdfast.store.project import statistics

    found = current().link.perform_once(statistics(datetime.now(UTC) - since, task, by_task=True))
    columns = [
        Column("TASK"), *(Column(title, "right") for title in (
            "ENQUEUED", "COMPLETED", "FAILED", "CANCELLED", "RETRIED", "SUCCESS", "WAIT P50", "P95", "RUN P50", "P95", "MEAN")),
    ]  # fmt: skip
    rows = [{**asdict(each), "success_rate": each.success_rate} for each in found]
    emit(rows, columns, [_cells(each) for each in found], "nothing moved in that time")


def _cells(each: "Statistics") -> list[str]:
    rate = each.success_rate
    return [
        plain(each.task),
        *(str(count) for count in (each.enqueued, each.completed, each.failed, each.cancelled, each.retried)),
        dim("-") if rate is None else f"{rate:.1%}",
        *(
            _seconds(figure)
            for figure in (each.p50_wait, each.p95_wait, each.p50_run, each.p95_run, each.mean_run)
        ),
    ]


def _seconds(figure: float | None) -> str:
    if figure is None:
        return dim("-")
    return f"{figure * 1000:.0f} ms" if figure < 1 else f"{figure:,.1f} s"


def _standings() -> None:
    from holdfast.store.project import standings

    found = current().link.perform_once(standings())
    columns = [Column("QUEUE"), Column("STATUS"), Column("JOBS", "right"), Column("OLDEST", "right")]
    cells = [
        [plain(each.queue), each.status, str(each.jobs), _seconds(each.oldest_seconds)] for each in found
    ]
    emit([asdict(each) for each in found], columns, cells, "no job has ever been enqueued")


@click.command(cls=Command)
@click.option("--tenant", help="Of this tenant only.")
@click.option("--task", help="Of this task only.")
@click.option("--from", "first", type=click.DateTime(["%Y-%m-%d"]), help="First day (UTC).")
@click.option("--to", "last", type=click.DateTime(["%Y-%m-%d"]), help="Last day (UTC).")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "jsonl", "csv"]), default="table", show_default=True
)
def usage(
    tenant: str | None, task: str | None, first: datetime | None, last: datetime | None, output: str
) -> None:
    """List usage by day, tenant and task. It adds up exactly to the history, also of jobs that retention removed."""
    from holdfast.domain.feed import Usage
    from holdfast.interfaces.tables import as_csv
    from holdfast.store.project import usage as list_usage

    found = current().link.perform_once(
        list_usage(tenant, task, first.date() if first else None, last.date() if last else None)
    )
    names = [field.name for field in fields(Usage)]
    rows = [_plain_row(asdict(each)) for each in found]
    if output == "csv":
        table = as_csv(names, ([row[name] for name in names] for row in rows), "\n")
        click.echo(table, nl=False)
        return
    current().output = output
    columns = [
        Column(name.replace("_", " ").upper(), "left" if name in {"day", "tenant", "task"} else "right")
        for name in names
    ]
    cells = [[dim("-") if row[name] is None else plain(row[name]) for name in names] for row in rows]
    emit(rows, columns, cells, "no usage yet: it is counted by running workers")


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(value) if isinstance(value, Decimal) else value.isoformat() if name == "day" else value
        for name, value in row.items()
    }


@click.group(cls=Group)
def quota() -> None:
    """List and set what tenants may use."""


@quota.command("list", cls=Command)
@click.option("--tenant", help="Of this tenant only.")
def list_(tenant: str | None) -> None:
    """List quotas with what is used of them in the running period."""
    from holdfast.store.project import quotas

    found = current().link.perform_once(quotas(tenant))
    columns = [
        Column("TENANT"), Column("TASK"), Column("PERIOD"), Column("MEASURE"), Column("SOFT", "right"), Column("HARD", "right"),
        Column("USED", "right"), Column("STATE"),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {name: float(value) if isinstance(value, Decimal) else value for name, value in asdict(each).items()}
        for each in found
    ]
    cells = [
        [
            plain(row["tenant"]),
            dim("all") if row["task"] is None else plain(row["task"]),
            row["period"],
            row["measure"],
            *(dim("-") if row[name] is None else f"{row[name]:g}" for name in ("soft", "hard", "used")),
            "refused" if row["reached_until"] else "open",
        ]
        for row in rows
    ]
    emit(rows, columns, cells, "no tenant has a quota: set one with holdfast quota set TENANT --hard N")


@quota.command("set", cls=Command)
@click.argument("tenant")
@click.option("--task", help="Of this task only [all together].")
@click.option(
    "--period", type=click.Choice(["day", "month"]), default="day", show_default=True, help="In UTC."
)
@click.option(
    "--measure", type=click.Choice(["enqueued", "runs", "run_seconds"]), default="enqueued", show_default=True
)
@click.option("--soft", type=Decimal, help="Passing it is told: an event quota.soft, once a period.")
@click.option("--hard", type=Decimal, help="Passing it refuses further jobs until the period ends.")
def set_(
    tenant: str, task: str | None, period: str, measure: str, soft: Decimal | None, hard: Decimal | None
) -> None:
    """Set a tenant's marks; without either the quota is removed."""
    from holdfast.store.project import set_quota

    current().link.perform(set_quota(tenant, task, period, measure, soft, hard))
    removed = soft is None and hard is None
    emit_one(
        {"name": tenant, "task": task, "period": period, "measure": measure, "removed": removed},
        [f"the quota of {plain(tenant)} is {'removed' if removed else 'set'}"],
    )
