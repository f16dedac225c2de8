"""One job: where it is and why, what can be done about it, and its whole story."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.states import Status
from holdfast.interfaces.http.address import prefix
from holdfast.interfaces.http.api.alerts import AuditQuery, list_actions
from holdfast.interfaces.http.api.job_story import (
    FlowJobView,
    RevealBody,
    list_activity,
    list_job_approvals,
    reveal_job,
    show_flow,
)
from holdfast.interfaces.http.api.job_views import StepView
from holdfast.interfaces.http.api.jobs import (
    list_attempts,
    list_history,
    list_steps,
    show_job,
)
from holdfast.interfaces.http.api.payloads import REVEALED_FOR
from holdfast.interfaces.http.dashboard.attempts import LEVELS, as_lines, attempts_of
from holdfast.interfaces.http.dashboard.copying import as_curl, as_python, is_partly_hidden
from holdfast.interfaces.http.dashboard.flow_graph import MOST_DRAWN, Edge, Node, flow_graph, grouped, outline
from holdfast.interfaces.http.dashboard.job_actions import ReasonForm, together, why_not
from holdfast.interfaces.http.dashboard.jobs import other_queues
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, File, Section
from holdfast.interfaces.http.dashboard.rendering import as_json, short_id
from holdfast.interfaces.http.dashboard.state_picture import state_picture
from holdfast.interfaces.http.dashboard.terms import jobs_with, term
from holdfast.interfaces.http.dashboard.timeline import FILTERS, Filter, Told, folded, timeline
from holdfast.interfaces.http.dashboard.waterfall import Bar, waterfall
from holdfast.interfaces.http.hooks import JobFacts
from holdfast.interfaces.http.operation import ListQuery

job = Section("jobs")

Tab: TypeAlias = Literal["timeline", "steps", "attempts", "payload", "graph", "audit"]
Level: TypeAlias = Literal["debug", "info", "warning", "error", "critical"]
Zoom: TypeAlias = Literal["fit", "50", "100", "200"]
ZOOMS: dict[Zoom, str] = {"fit": "Fit", "50": "50 %", "100": "100 %", "200": "200 %"}
MOST_EDGES = 1500
_MOST_LINES = 600  # of the graph as a list
_PART, _MOST_PARTS = 200, 5
Values: TypeAlias = dict[str, Any]


class JobAsked(Asked):
    """Which tab, and which part of it."""

    tab: Tab = "timeline"
    only: Filter = "all"
    level: Level = "debug"
    zoom: Zoom = "100"
    after: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None

    @property
    def scale(self) -> float | None:
        """How large the graph is drawn; None is as wide as there is room."""
        return None if self.zoom == "fit" else int(self.zoom) / 100

    @property
    def graph(self) -> str:
        """The query of another job's graph, as large as this one's."""
        return "tab=graph" if self.zoom == "100" else f"tab=graph&zoom={self.zoom}"


# -- panels ----------------------------------------------------------------------------------------------------------------


@job.panel("jobs", "queues", "workers")
async def job_header(look: Look, job_id: UUID) -> Values:
    """Say where a job is and why, and offer what can be done about it now."""
    shown = await look.at(show_job, job_id)
    activity = await look.at(list_activity, job_id, ListQuery(limit=1))
    facts, hooks = JobFacts.of(shown), look.call.hooks
    cannot = await why_not(shown, look)
    return {
        "job": shown,
        "progress": None if shown.status.is_terminal else activity.progress,
        "why": shown.why.partition("; decide: holdfast approval")[0],  # here, there is a button
        "cannot": cannot,
        "refusals": together(cannot),
        "queues": [] if cannot["Move"] else await other_queues(look, shown.queue),
        "given": hooks.words_for(facts) if hooks.format_args is not None else None,
        "links": hooks.links_for(facts),
        "may_approve": look.may(Scope.APPROVE),
    }


@job.panel("jobs")
async def job_tab(look: Look, asked: JobAsked, job_id: UUID) -> Values:
    """Show the part of its story that was asked for."""
    return await _READERS[asked.tab](look, asked, job_id)


JOB_PAGE = job.page("/jobs/{job_id:uuid}", "Job", job_header, job_tab, name="job", asked=JobAsked)


# -- tabs ------------------------------------------------------------------------------------------------------------------


async def _timeline(look: Look, asked: JobAsked, job_id: UUID) -> Values:
    shown = await look.at(show_job, job_id)
    history, whole = await _all(look, list_history, job_id)
    attempts, _ = await _all(look, list_attempts, job_id)
    steps, _ = await _all(look, list_steps, job_id)
    activity, _ = await _all(look, list_activity, job_id)
    approvals = (await look.at(list_job_approvals, job_id)).items
    undoing = await look.at(show_job, shown.compensated_by) if shown.compensated_by else None
    actions = await _actions(look, job_id) if look.may(Scope.OPERATE) else []
    told = Told(shown, history, attempts, steps, approvals, activity, actions, undoing)
    return {
        "picture": state_picture([(move.from_status, move.to_status) for move in history], shown.status),
        "happened": folded(timeline(told, asked.only)),
        "filters": FILTERS,
        "whole": whole,
    }


async def _steps(look: Look, _asked: JobAsked, job_id: UUID) -> Values:
    shown = await look.at(show_job, job_id)
    own, whole = await _all(look, list_steps, job_id)
    # Doing and undoing are two jobs; each shows both.
    other_id = shown.compensates or shown.compensated_by
    other = (await _all(look, list_steps, other_id))[0] if other_id else []
    done, undone = (other, own) if shown.compensates else (own, other)
    return {
        "picture": waterfall(_bars(done), _bars(undone)),
        "done": done,
        "undone": undone,
        "undoing_id": job_id if shown.compensates else other_id,
        "whole": whole,
    }


async def _attempts(look: Look, asked: JobAsked, job_id: UUID) -> Values:
    history, whole = await _all(look, list_history, job_id)
    left, _ = await _all(look, list_attempts, job_id)
    return {
        "attempts": attempts_of(history, left, asked.level),
        "levels": LEVELS,
        "whole": whole,
        "heard": ("jobs", "logs"),
    }


async def _payload(look: Look, _asked: JobAsked, job_id: UUID) -> Values:
    shown = await look.at(show_job, job_id)
    if shown.hidden is not None:
        return {"is_hidden": True}
    address = f"{look.request.url.scheme}://{look.request.url.netloc}{prefix(look.request)}/api/v1/jobs"
    return {
        "is_hidden": False,
        "parts": {"Payload": shown.payload, "Result": shown.result, "Metadata": shown.metadata},
        "has_ended": shown.status is Status.COMPLETED,
        "copies": {
            "JSON": as_json(shown.payload),
            "Python": as_python(shown),
            "curl": as_curl(shown, address),
        },
        "is_partly_hidden": is_partly_hidden(shown.payload),
    }


async def _graph(look: Look, asked: JobAsked, job_id: UUID) -> Values:
    flow = await look.at(show_flow, job_id)
    nodes, edges = flow_parts(flow.jobs)
    before = prefix(look.request)
    is_grouped = len(nodes) > MOST_DRAWN or len(edges) > MOST_EDGES
    current: Any = job_id
    if is_grouped:
        current = next(node.title for node in nodes if node.key == job_id)
        nodes, edges = grouped(nodes, edges)

    def address(node: Node) -> str:
        # A job's graph, or where the list of jobs finds a task's.
        own = isinstance(node.key, UUID)
        return before + (f"/jobs/{node.key}?{asked.graph}" if own else jobs_with(term("task", str(node.key))))

    lines = outline(nodes, edges)
    return {
        "count": len(flow.jobs),
        "whole": flow.whole,
        "is_grouped": is_grouped,
        "nodes": nodes,
        "picture": flow_graph(nodes, edges, current, address, asked.scale),
        "zooms": ZOOMS,
        "lines": lines[:_MOST_LINES],
        "more_lines": max(len(lines) - _MOST_LINES, 0),
        "current": current,
        "statuses": list(Status),
    }


async def _audit(look: Look, asked: JobAsked, job_id: UUID) -> Values:
    if not look.may(Scope.OPERATE):
        return {"is_for_others": True}
    found = await look.at(list_actions, AuditQuery(target=str(job_id), after=asked.after, limit=100))
    return {"is_for_others": False, "actions": found.items, "next": found.next}


_READERS: dict[Tab, Callable[[Look, JobAsked, UUID], Awaitable[Values]]] = {
    "timeline": _timeline,
    "steps": _steps,
    "attempts": _attempts,
    "payload": _payload,
    "graph": _graph,
    "audit": _audit,
}


async def _all(look: Look, operation: Callable[..., Awaitable[Any]], job_id: UUID) -> tuple[list[Any], bool]:
    """Read a list from its beginning, as far as a page can show it; and whether that was all."""
    items: list[Any] = []
    after: str | None = None
    for _ in range(_MOST_PARTS):
        part = await look.at(operation, job_id, ListQuery(after=after, limit=_PART))
        items += part.items
        after = part.next
        if after is None:
            return items, True
    return items, False


async def _actions(look: Look, job_id: UUID) -> list[Any]:
    return list((await look.at(list_actions, AuditQuery(target=str(job_id), limit=_PART))).items)


def _bars(steps: Sequence[StepView]) -> list[Bar]:
    return [Bar(step.name, step.kind, step.started_at, step.finished_at, step.tries) for step in steps]


def flow_parts(jobs: Sequence[FlowJobView]) -> tuple[list[Node], list[Edge]]:
    """Give the boxes and arrows of a flow; what leads to jobs that were not read is left out."""
    known = {each.id for each in jobs}
    nodes = [Node(each.id, each.task, each.label or short_id(each.id), each.status) for each in jobs]
    edges: dict[tuple[UUID, UUID], Edge] = {}
    for each in jobs:
        ties = [
            *((need, "needed") for need in each.needs),
            (each.compensates, "undone"),
            (each.retry_of, "again"),
            (each.parent_id, "child"),
        ]
        for before, kind in ties:
            # A parent that waits for its child needs it: the arrow of the child is the one that began it.
            if before is None or before not in known or (each.id, before) in edges:
                continue
            edges.setdefault((before, each.id), Edge(before, each.id, kind))
    return nodes, list(edges.values())


# -- files -----------------------------------------------------------------------------------------------------------------


class LogAsked(Asked):
    """From which level on, and of which attempt; of all unless told."""

    level: Level = "debug"
    attempt: int | None = None


@job.download("/jobs/{job_id:uuid}/log")
async def keep_log(look: Look, asked: LogAsked, job_id: UUID) -> File:
    """Write what a job's attempts logged."""
    await look.at(show_job, job_id)
    left, _ = await _all(look, list_attempts, job_id)
    chosen = [each for each in attempts_of([], left, asked.level) if asked.attempt in {None, each.number}]
    which = "" if asked.attempt is None else f"-attempt-{asked.attempt}"
    return File(f"{short_id(job_id)}{which}.log", "text/plain", as_lines(chosen))


# -- forms -----------------------------------------------------------------------------------------------------------------


@job.action("/jobs/{job_id:uuid}/reveal")
async def reveal(look: Look, form: ReasonForm, job_id: UUID) -> Done:
    """Show a payload to somebody who says why."""
    await look.at(reveal_job, job_id, RevealBody(reason=form.reason))
    minutes = int(REVEALED_FOR.total_seconds() // 60)
    return Done(
        f"You see the payload for {minutes} minutes; the audit has your reason.",
        f"/jobs/{job_id}?tab=payload",
    )
