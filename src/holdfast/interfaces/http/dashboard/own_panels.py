"""Panels of the application that serves the dashboard, on the page of a job."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from holdfast.interfaces.http.api.jobs import show_job
from holdfast.interfaces.http.dashboard.job import JOB_PAGE
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Page, Panel
from holdfast.interfaces.http.hooks import JobFacts, JobPanel, facts_of
from holdfast.runtime.logs import events

KIND = "own_panel"


def with_panels(page: Page, panels: Sequence[JobPanel]) -> Page:
    """Give the page of a job the application's panels; every other page stays as it is."""
    if page is not JOB_PAGE:
        return page
    return replace(page, panels=(*page.panels, *map(_panel, panels)))


def _panel(own: JobPanel) -> Panel:
    async def read(look: Look, job_id: UUID) -> dict[str, Any]:
        shown = await look.at(show_job, job_id)
        try:
            facts = facts_of(await own.read(look.principal, JobFacts.of(shown)))
        except Exception as error:  # noqa: BLE001 - any code can stand in a hook
            events.error("hook:failed", exc_info=error, extra={"hook": f"panel {own.name}"})
            return {"title": own.title, "facts": None}
        return {"title": own.title, "facts": facts}

    return Panel(f"own_{own.name}", read, ("jobs",), kind=KIND)
