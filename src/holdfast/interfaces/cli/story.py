"""The story of one job, for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from holdfast.domain.errors import JobNotFound
from holdfast.domain.job import AttemptRecord, Happening, Job, Progress, StepRecord, Story, Transition
from holdfast.domain.sentence import ago, sentence, span
from holdfast.interfaces.cli.output import Column, as_json, badge, clock_time, dim, plain, table

if TYPE_CHECKING:
    from holdfast.runtime.link import Link

_LONGEST_VALUE = 400
_LONGEST_CELL = 60
_LINES_SHOWN = 10


def read_story(link: "Link", job_id: UUID) -> Story:
    """Read everything that is known about a job."""
    from holdfast.store import inspect
    from holdfast.store.dispatch import check_run

    link.perform(check_run(job_id))  # whoever looks finds out that a run fell silent
    job = link.perform_once(inspect.find_job(job_id))
    if job is None:
        raise JobNotFound(f"no job has the id {job_id}")
    return Story(
        job,
        link.perform_once(inspect.history(job_id)),
        link.perform_once(inspect.attempts(job_id)),
        link.perform_once(inspect.steps(job_id)),
        link.perform_once(inspect.activity(job_id)),
        link.perform_once(inspect.progress(job_id)),
    )


def story_as_json(story: Story) -> dict[str, Any]:
    """Write a story for programs."""
    told = asdict(story.job)
    del told["now"]
    return {
        **told,
        "sentence": sentence(story.job, story.history),
        "history": [asdict(each) for each in story.history],
        "attempts": [asdict(each) for each in story.attempts],
        "steps": [asdict(each) for each in story.steps],
        "activity": [asdict(each) for each in story.activity],
        "progress": asdict(story.progress) if story.progress else None,
    }


def story_lines(story: Story, *, verbose: bool) -> Iterator[str]:
    """Write a story for a person."""
    job = story.job
    yield f"{badge(job.status)}  {click.style(plain(job.task), bold=True)}{'  ' + plain(job.label) if job.label else ''}"
    yield plain(sentence(job, story.history))
    if story.progress is not None and not job.status.is_terminal:
        yield plain(_progress(story.progress))
    yield ""
    yield from _facts(job, verbose=verbose)
    yield ""
    yield from _history(story.history)
    if story.steps:
        yield ""
        yield from _steps(story.steps, verbose=verbose)
    if story.activity:
        yield ""
        yield from _activity(story.activity, verbose=verbose)
    if story.attempts:
        yield ""
        yield from _attempts(story, verbose=verbose)


def _facts(job: Job, *, verbose: bool) -> Iterator[str]:
    facts = {
        "id": job.id,
        "queue": job.queue if not job.priority else f"{job.queue}, priority {job.priority}",
        "created": f"{clock_time(job.created_at)} ({ago(job.created_at, job.now)}){f' by {job.requested_by}' if job.requested_by else ''}",
        "tenant": job.tenant,
        "subject": job.subject,
        "key": job.key if not job.key or job.key_held else f"{job.key} (free again)",
        "tags": ", ".join(job.tags) if job.tags else None,
        "parent": job.parent_id,
        "undoes": job.compensates,
        "undone by": job.compensated_by,
        "retry of": job.retry_of,
        "retried as": job.retried_as,
        "metadata": as_json(job.metadata) if job.metadata else None,
        "payload": as_json(job.payload),
        "result": as_json(job.result) if job.result is not None else None,
    }
    for name, value in facts.items():
        if value is not None:
            text = plain(value)
            yield f"  {dim(f'{name:<10}')}  {text if verbose or len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '… (-v shows all)'}"


def _history(history: list[Transition]) -> Iterator[str]:
    columns = [
        Column("HISTORY"),
        Column("AFTER", "right"),
        Column("STATUS"),
        Column("TRY", "right"),
        Column("BY"),
        Column("WHY"),
    ]
    cells = []
    for n, each in enumerate(history):
        gap = f"+{span(each.at - history[n - 1].at)}" if n else ""
        who = plain(each.actor)
        cells.append(
            [
                clock_time(each.at),
                gap,
                badge(each.to_status),
                str(each.attempt or ""),
                who,
                plain(each.reason or ""),
            ]
        )
    yield from table(columns, cells)


def _progress(progress: Progress) -> str:
    of = "" if progress.total is None else f" of {progress.total:g}"
    return f"progress: {progress.done:g}{of}{': ' + progress.note if progress.note else ''}"


def _steps(steps: list[StepRecord], *, verbose: bool) -> Iterator[str]:
    columns = [
        Column("STEPS"),
        Column("TOOK", "right"),
        Column("KIND"),
        Column("TRY", "right"),
        Column("STEP"),
        Column("VALUE"),
    ]
    yield from table(
        columns,
        [
            [
                clock_time(step.finished_at),
                span(step.finished_at - step.started_at),
                step.kind,
                str(step.attempt),
                plain(step.name) + (" (can be undone)" if step.undoable else ""),
                _shortened(as_json(step.value), verbose=verbose) if step.value is not None else "",
            ]
            for step in steps
        ],
    )


def _activity(activity: list[Happening], *, verbose: bool) -> Iterator[str]:
    columns = [Column("ACTIVITY"), Column("WHAT"), Column("BY"), Column("FACTS")]
    yield from table(
        columns,
        [
            [
                clock_time(each.at),
                plain(each.kind),
                plain(each.actor),
                _shortened(as_json(each.data), verbose=verbose) if each.data else "",
            ]
            for each in activity
        ],
    )


def _shortened(text: str, *, verbose: bool) -> str:
    text = plain(text)
    return text if verbose or len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"


def _attempts(story: Story, *, verbose: bool) -> Iterator[str]:
    yield click.style("ATTEMPTS", bold=True)
    for attempt in story.attempts:
        when = ago(attempt.at, story.job.now)
        yield f"  {attempt.attempt}  {plain(attempt.outcome)} on {plain(attempt.worker)}, {when}"
        yield from _error(attempt.error or {}, verbose=verbose)
        yield from _logs(attempt, verbose=verbose)


def _error(error: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    if not error:
        return
    kind = (
        f" ({error['kind']}, {'recoverable' if error.get('recoverable') else 'not recoverable'})"
        if "kind" in error
        else ""
    )
    yield f"     {click.style(plain(error.get('type')), fg='red')}: {plain(error.get('message'))}{dim(plain(kind))}"
    if not error.get("traceback"):
        return
    if verbose:
        for line in str(error["traceback"]).splitlines():
            yield f"       {dim(plain(line))}"
    else:
        yield f"     {dim('-v shows the traceback')}"


def _logs(attempt: AttemptRecord, *, verbose: bool) -> Iterator[str]:
    lines = attempt.logs or []
    shown = lines if verbose else lines[-_LINES_SHOWN:]
    if len(shown) < len(lines):
        yield f"     {dim(f'… {len(lines) - len(shown)} earlier log lines (-v shows all)')}"
    for line in shown:
        told = " ".join(str(line[name]) for name in ("level", "logger") if name in line)
        yield f"     {dim(plain(told))} {plain(line.get('message'))}"
