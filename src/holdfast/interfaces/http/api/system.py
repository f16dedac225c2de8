"""/system: what runs here, how large it has grown, and whether it is well."""

import asyncio
import platform
from datetime import datetime
from importlib.metadata import version
from typing import Annotated

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.health import Check, Verdict
from holdfast.interfaces.checks import examine
from holdfast.interfaces.http.operation import ApiCall, Operations, View
from holdfast.store import overview
from holdfast.store.migrate import schema_state

system = Operations("system")


class TableView(View):
    """A table with its partitions and indexes; the numbers of rows are the database's own estimates."""

    name: str
    rows: int
    dead_rows: int
    bytes: int
    vacuumed_at: datetime | None


class SystemView(View):
    """What runs here."""

    release: str
    python: str
    postgresql: str
    clock: datetime
    schema_parts: int
    schema_problem: str | None
    oldest_transaction: Annotated[float | None, Field(description="How old it is, in seconds")]
    notify_usage: Annotated[float, Field(description="Share of the server's notification queue that is full")]
    tables: list[TableView]


class CheckView(View):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    found: str
    advice: str | None


class ExaminationView(View):
    """What `holdfast doctor` says."""

    is_healthy: bool
    checks: list[CheckView]


@system.get("/system", scope=Scope.OPERATE, for_all=True)
async def show_system(call: ApiCall) -> SystemView:
    """Tell versions, the schema's state and how large the tables are."""
    server = await call.ask(overview.server())
    state = await call.ask(schema_state())
    oldest = (await call.ask(overview.storage())).oldest_transaction
    return SystemView(
        release=version("holdfast"),
        python=platform.python_version(),
        postgresql=server.version,
        clock=server.clock,
        schema_parts=len(state.installed),
        schema_problem=state.problem(),
        oldest_transaction=None if oldest is None else oldest.total_seconds(),
        notify_usage=await call.ask(overview.notify_usage()),
        tables=[TableView.model_validate(each) for each in await call.ask(overview.tables())],
    )


@system.get("/system/doctor", scope=Scope.OPERATE, for_all=True, transaction=False)
async def examine_system(call: ApiCall) -> ExaminationView:
    """Look whether the queue is stuck, and why."""
    checks = await asyncio.to_thread(_examine, call)
    return ExaminationView(
        is_healthy=all(each.verdict is not Verdict.FAIL for each in checks),
        checks=[CheckView.model_validate(each) for each in checks],
    )


def _examine(call: ApiCall) -> list[Check]:
    return list(examine(lambda: call.app.link.database, roles_required=False))
