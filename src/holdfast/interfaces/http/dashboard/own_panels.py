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

KIND = "own_panel"


def with_panels(page: Page, panels: Sequence[JobPanel]) -> Page:
    """Give the page of a job the application's panels; every other page stays as it is."""
    if page is not JOB_PAGE:
        return page
    return replace(page, panels=(*page.panels, *map(_panel, panels)))


def _panel(own: JobPanel) -> Panel:
    async def read(look: Look, job_id: UUID) -> dict[str, Any]:
        shown = await look.at(show_job, job_id)
        told = await own.read(look.principal, JobFacts.of(shown))
        return {"title": own.title, "facts": facts_of(told)}

    return Panel(f"own_{own.name}", read, ("jobs",), kind=KIND)
