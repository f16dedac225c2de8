"""Flows: jobs that run after others. A flow is a list of new jobs, in an order in which each comes after what it needs."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.job import NewJob

ParentFailure: TypeAlias = Literal["cancel", "run"]
Part: TypeAlias = "NewJob | Sequence[NewJob]"


def chain(*parts: Part, on_parent_failure: ParentFailure = "cancel") -> list[NewJob]:
    """Let each part run after the one before it has completed; a list of jobs is a part whose jobs run side by side."""
    if not parts:
        raise BadInput("a chain needs at least one job")
    flow: list[NewJob] = []
    before: list[NewJob] = []
    for part in parts:
        jobs = _begun_after(_jobs(part), before, on_parent_failure)
        flow += jobs
        before = _last(jobs)
    return _without_cycle(flow)


def group(
    jobs: Iterable[NewJob], *, then: NewJob | None = None, on_parent_failure: ParentFailure = "cancel"
) -> list[NewJob]:
    """Let jobs run side by side, and `then` after all of them; its task gets their results from ctx.results()."""
    members = list(jobs)
    if not members:
        raise BadInput("a group needs at least one job")
    if then is None:
        return _without_cycle(members)
    return _without_cycle([*members, run_after(then, [one.id for one in _last(members)], on_parent_failure)])


def run_after(job: NewJob, needs: Iterable[UUID], policy: ParentFailure) -> NewJob:
    """Let a job wait for others, besides those it waits for already."""
    wanted = [str(one) for one in needs]
    if not wanted:
        return job
    options = json.loads("{" + job.options.removeprefix(",") + "}")
    options["after"] = list(dict.fromkeys([*options.get("after", []), *wanted]))
    options["on_parent_failure"] = policy
    return job._replace(options="," + json.dumps(options)[1:-1])


def _begun_after(jobs: list[NewJob], before: list[NewJob], policy: ParentFailure) -> list[NewJob]:
    """Let those begin after what came before that need no other of these: the others come later anyway."""
    ids = {str(job.id) for job in jobs}
    needs = [one.id for one in before]
    return [job if ids & set(needs_of(job)) else run_after(job, needs, policy) for job in jobs]


def _jobs(part: Part) -> list[NewJob]:
    jobs = [part] if isinstance(part, NewJob) else list(part)
    if not jobs or not all(isinstance(job, NewJob) for job in jobs):
        raise BadInput("a flow is made of jobs from task.job(…), and of lists of them")
    return jobs


def _last(jobs: list[NewJob]) -> list[NewJob]:
    """Find those that no other of these needs: what comes next waits for them."""
    needed = {one for job in jobs for one in needs_of(job)}
    return [job for job in jobs if str(job.id) not in needed]


def needs_of(job: NewJob) -> list[str]:
    """Name the jobs that a new job waits for."""
    if '"after"' not in job.options:
        return []
    told: list[str] = json.loads("{" + job.options.removeprefix(",") + "}").get("after", [])
    return told


def _without_cycle(flow: list[NewJob]) -> list[NewJob]:
    seen: set[UUID] = set()
    for job in flow:
        if job.id in seen:
            raise BadInput(f"job {job.id} ({job.task}) stands twice in the flow, and would wait for itself")
        seen.add(job.id)
    return flow
