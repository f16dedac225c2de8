"""Batch operations: one thing done to many jobs, looked at before, followed while it goes on, and stopped."""

from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.bulk import Action
from holdfast.domain.errors import BadInput, JobNotFound, TooManyJobs
from holdfast.domain.search import LONGEST
from holdfast.interfaces.http.api.job_views import ListedJobView
from holdfast.interfaces.http.api.jobs import show_job
from holdfast.interfaces.http.api.operations import (
    MOST_NAMED,
    SAMPLES,
    NewOperationBody,
    OperationView,
    PreviewQuery,
    cancel_operation,
    create_operation,
    list_operations,
    list_skipped,
    preview_operation,
    show_operation,
)
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard.jobs import going_on
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, Form, Section
from holdfast.interfaces.http.operation import ListQuery
from holdfast.interfaces.http.problem import INVALID, Refusal
from holdfast.runtime.bulk import CHOSEN

batch = Section("jobs")

LABELS: dict[Action, str] = {"retry": "Run again", "cancel": "Stop"}
EFFECTS: dict[Action, str] = {
    "retry": "Each failed job runs again as a new job with the same payload; the failed one stays as it is.",
    "cancel": "Each job that has not ended is cancelled; one that runs is told to stop. This cannot be undone.",
}
DONE: dict[Action, str] = {"retry": "run again", "cancel": "stopped"}
# More than these are confirmed by typing how many they are; so is whatever cannot be undone.
MANY = 100
_EVERYTHING = "all"


class Several(NamedTuple):
    """Which jobs are meant: those that fit a search, or those that were chosen."""

    q: str | None
    ids: tuple[UUID, ...] = ()


class NewOperationAsked(Asked):
    """What is to be done, and to which jobs."""

    action: Action = "retry"
    q: Annotated[str, Field(max_length=LONGEST)] = ""
    pick: str = ""
    all: str = ""

    @property
    def several(self) -> Several:
        """The jobs that are meant."""
        if self.pick and not self.all:
            return Several(None, read_ids(self.pick))
        return Several(self.q)


def read_ids(text: str) -> tuple[UUID, ...]:
    """Read ids that stand apart by commas."""
    try:
        ids = tuple(dict.fromkeys(UUID(each) for each in text.split(",")))
    except ValueError:
        raise Refusal(INVALID, "these are no ids of jobs") from None
    if len(ids) > MOST_NAMED:
        raise Refusal(INVALID, f"at most {MOST_NAMED} jobs can be chosen one by one: search for them instead")
    return ids


def word_to_type(action: Action, count: int, *, is_all: bool) -> str | None:
    """Say what is typed to confirm: how many jobs there are, where that is many or cannot be undone."""
    if action != "cancel" and count <= MANY and is_all:
        return None
    return str(count) if is_all else _EVERYTHING


def amount(number: int, *, is_all: bool = True) -> str:
    """Write how many jobs there are, or at least are."""
    return f"{number:,}{'' if is_all else '+'} job{'' if number == 1 else 's'}"


def most_of(count: int) -> int:
    """Say how many jobs are touched at most: a few may come to fit while somebody reads the preview."""
    return count + max(10, count // 10)


# -- before ----------------------------------------------------------------------------------------------------------------


@batch.panel()
async def operation_preview(look: Look, asked: NewOperationAsked) -> dict[str, Any]:
    """Show what an operation would touch."""
    several = asked.several
    samples: list[ListedJobView]
    if several.ids:
        samples = await _shown(look, several.ids[:SAMPLES])
        number, is_all, since = len(several.ids), True, None
    elif several.q:
        seen = await look.at(preview_operation, PreviewQuery(action=asked.action, q=several.q))
        samples, number, is_all, since = seen.samples, seen.count, seen.is_all, seen.since
    else:
        raise Refusal(INVALID, "Choose jobs in the list first, or search for some.")
    return {
        "number": number,
        "is_all": is_all,
        "amount": amount(number, is_all=is_all),
        "at_most": most_of(number) if is_all and not several.ids else None,
        "since": since,
        "samples": [(job, going_on(job)) for job in samples],
        "several": several,
        "label": LABELS[asked.action],
        "effect": EFFECTS[asked.action],
        "word": word_to_type(asked.action, number, is_all=is_all),
        "may_operate": look.may(Scope.OPERATE),
    }


async def _shown(look: Look, ids: tuple[UUID, ...]) -> list[ListedJobView]:
    found: list[ListedJobView] = []
    for job_id in ids:
        try:
            found.append(await look.at(show_job, job_id))
        except JobNotFound:
            continue  # retention took it meanwhile: the operation will skip it and say so
    return found


class NewOperationForm(Form):
    """What was looked at, and that it is meant."""

    action: Action
    q: Annotated[str, Field(max_length=LONGEST)] | None = None
    jobs: str | None = None
    number: Annotated[int, Field(ge=0)]
    counted: bool = False
    typed: str | None = None
    reason: Annotated[str, Field(min_length=1, max_length=500)]

    @property
    def preview(self) -> str:
        """Where it was looked at."""
        told = {"action": self.action, "q": self.q, "pick": self.jobs}
        return f"/operations/new?{urlencode({name: value for name, value in told.items() if value})}"


@batch.action("/operations/new")
async def begin(look: Look, form: NewOperationForm) -> Done:
    """Begin an operation."""
    word = word_to_type(form.action, form.number, is_all=form.counted)
    if word is not None and (form.typed or "").replace(",", "") != word:
        return Done(f"Nothing was done: type {word} to confirm.", form.preview)
    body = NewOperationBody(
        action=form.action,
        q=None if form.jobs else form.q,
        jobs=list(read_ids(form.jobs)) if form.jobs else None,
        reason=form.reason,
        at_most=most_of(form.number) if form.counted else None,
    )
    try:
        made = await look.at(create_operation, body)
    except (TooManyJobs, BadInput) as refused:
        return Done(f"Nothing was done: {refused}", form.preview)
    are = "is" if made.total == 1 else "are"
    return Done(f"Begun: {amount(made.total)} {are} {DONE[form.action]}.", f"/operations/{made.id}")


batch.page(
    "/operations/new", "New batch operation", operation_preview, name="operation_new", asked=NewOperationAsked
)


# -- meanwhile -------------------------------------------------------------------------------------------------------------


class ListAsked(Asked):
    """Which part of a list."""

    after: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


def told_of(operation: OperationView) -> str:
    """Say in a sentence how far an operation has come."""
    dealt = operation.done + operation.skipped
    left = (
        f"{operation.done:,} of {operation.total:,} {DONE[operation.action]}, {operation.skipped:,} skipped"
    )
    if operation.finished_at is None and operation.status is not None:
        return f"{left}. It goes on by itself; you may leave this page."
    if dealt < operation.total:
        return f"Ended before its end: {left}. What it has done stays done."
    return f"Done: {left}."


@batch.panel("jobs")
async def operation_progress(look: Look, operation_id: UUID) -> dict[str, Any]:
    """Show how far an operation has come."""
    operation = await look.at(show_operation, operation_id)
    return {
        "operation": operation,
        "label": LABELS[operation.action],
        "amount": amount(operation.total),
        "says": told_of(operation),
        "is_search": not operation.q.endswith(CHOSEN),
        "is_going_on": operation.finished_at is None and operation.status is not None,
        "may_operate": look.may(Scope.OPERATE),
    }


@batch.panel("jobs")
async def operation_skipped(look: Look, asked: ListAsked, operation_id: UUID) -> dict[str, Any]:
    """List the jobs that it could not be done to."""
    found = await look.at(list_skipped, operation_id, ListQuery(after=asked.after))
    return {"skipped": found.items, "next": found.next}


class StopForm(Form):
    """Why."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


@batch.action("/operations/{operation_id:uuid}/cancel")
async def stop(look: Look, form: StopForm, operation_id: UUID) -> Done:
    """Stop an operation."""
    await look.at(cancel_operation, operation_id, ReasonBody(reason=form.reason))
    return Done("The operation is stopped; what it has done stays done.", f"/operations/{operation_id}")


@batch.panel("jobs")
async def operation_list(look: Look, asked: ListAsked) -> dict[str, Any]:
    """List operations, the newest first."""
    found = await look.at(list_operations, ListQuery(after=asked.after))
    told = [(operation, LABELS[operation.action], amount(operation.total)) for operation in found.items]
    return {"operations": told, "next": found.next}


batch.page("/operations", "Batch operations", operation_list, name="operations", asked=ListAsked)
batch.page(
    "/operations/{operation_id:uuid}",
    "Batch operation",
    operation_progress,
    operation_skipped,
    name="operation",
    asked=ListAsked,
)
