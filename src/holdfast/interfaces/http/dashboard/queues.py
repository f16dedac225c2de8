"""Queues, and the workers that serve them."""

from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field

from holdfast.interfaces.http.api.queues import (
    LimitBody,
    limit_queue,
    list_queues,
    list_workers,
    pause_queue,
    resume_queue,
)
from holdfast.interfaces.http.api.words import PauseBody, ReasonBody
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Done, Form, Section

queues = Section("queues")

Reason = Annotated[str, Field(min_length=1, max_length=500)]


@queues.panel("queues", "jobs", "workers")
async def queue_list(look: Look) -> dict[str, Any]:
    """List the queues, those without jobs too."""
    found = await look.at(list_queues)
    return {"queues": found.items}


@queues.panel("workers", "jobs")
async def worker_list(look: Look) -> dict[str, Any]:
    """List the workers that live, and those that lately did."""
    found = await look.at(list_workers)
    return {"workers": found.items}


queues.page("/queues", "Queues", queue_list, worker_list)


class PauseForm(Form):
    """Why, and for how long."""

    reason: Reason
    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 30)] | None = None


class ReasonForm(Form):
    """Why."""

    reason: Reason


class LimitForm(ReasonForm):
    """How many may run at once; nothing takes the limit away."""

    limit: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


@queues.action("/queues/{name}/pause")
async def pause(look: Look, form: PauseForm, name: str) -> Done:
    """Pause a queue."""
    span = None if form.minutes is None else timedelta(minutes=form.minutes).total_seconds()
    await look.at(pause_queue, name, PauseBody(reason=form.reason, resume_in=span))
    return Done(f"Queue {name} is paused; what runs goes on.", "/queues")


@queues.action("/queues/{name}/resume")
async def resume(look: Look, form: ReasonForm, name: str) -> Done:
    """Let a queue's jobs run again."""
    await look.at(resume_queue, name, ReasonBody(reason=form.reason))
    return Done(f"Queue {name} runs again.", "/queues")


@queues.action("/queues/{name}/limit")
async def limit(look: Look, form: LimitForm, name: str) -> Done:
    """Set how many jobs of a queue may run at once."""
    await look.at(limit_queue, name, LimitBody(limit=form.limit, reason=form.reason))
    return Done(f"Queue {name} runs {form.limit or 'any number of'} jobs at once.", "/queues")
