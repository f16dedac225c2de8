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
from holdfast.interfaces.http.dashboard.jobs import going_on, other_queues
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, Form, NothingDone, Section
from holdfast.interfaces.http.operation import ListQuery
from holdfast.interfaces.http.problem import INVALID, Refusal
from holdfast.runtime.bulk import CHOSEN

batch = Section("jobs")

LABELS: dict[Action, str] = {
    "retry": "Run again",
    "cancel": "Stop",
    "reprioritise": "Set priority",
    "move": "Move to another queue",
    "delete": "Delete for ever",
}
HEADINGS: dict[Action, str] = {
    "retry": "Run jobs again",
    "cancel": "Stop jobs",
    "reprioritise": "Give jobs another priority",
    "move": "Move jobs to another queue",
    "delete": "Delete jobs",
}
EFFECTS: dict[Action, str] = {
    "retry": "Each failed job runs again as a new job with the same payload; the failed one stays as it is.",
    "cancel": "Each job that has not ended is cancelled; one that runs is told to stop. This cannot be undone.",
    "reprioritise": "Each job that has not ended moves in its line by 36 seconds a point: larger is earlier. One that runs has it from its next attempt on.",
    "move": "Each job that waits goes to the other queue, at the place in line that it has; that queue's pause and limit then count for it. One that runs is not moved.",
    "delete": "Each job that has ended is taken away with its history, attempts, steps and approvals. The audit keeps that it was there, and who deleted it. This cannot be undone.",
}
# Why nothing that fits can be dealt with so.
NOTHING: dict[Action, str] = {
    "retry": "run again: only failed jobs that nobody has run again can",
    "cancel": "stopped: all have ended",
    "reprioritise": "given another priority: all have ended",
    "move": "moved: all run, or have ended",
    "delete": "deleted: none has ended",
}
_DANGEROUS: frozenset[Action] = frozenset({"cancel", "delete"})
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
    priority: str = ""
    queue: str = ""

    @property
    def heading(self) -> str:
        """What the page is about."""
        return HEADINGS[self.action]

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
    if action not in _DANGEROUS and count <= MANY and is_all:
        return None
    return str(count) if is_all else _EVERYTHING


def done_to(operation: OperationView) -> str:
    """Say what became of each job that an operation was done to."""
    match operation.action:
        case "retry":
            return "run again"
        case "cancel":
            return "stopped"
        case "reprioritise":
            return f"given priority {operation.priority}"
        case "move":
            return f"moved to {operation.queue}"
        case "delete":
            return "deleted"


def label_of(operation: OperationView) -> str:
    """Say what an operation does."""
    match operation.action:
        case "reprioritise":
            return f"Set priority {operation.priority}"
        case "move":
            return f"Move to {operation.queue}"
        case _:
            return LABELS[operation.action]


def may_do(look: Look, action: Action) -> bool:
    """Whether this person may do it; the API says so again."""
    return look.may(Scope.ADMIN if action == "delete" else Scope.OPERATE)


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
        "may_operate": may_do(look, asked.action),
        "is_dangerous": asked.action in _DANGEROUS,
        "nothing": NOTHING[asked.action],
        "queues": await other_queues(look) if asked.action == "move" else [],
        "is_asked": look.call.hooks.authorize is not None,
    }


async def _shown(look: Look, ids: tuple[UUID, ...]) -> list[ListedJobView]:
    found: list[ListedJobView] = []
    for job_id in ids:
        try:
            found.append(await look.at(show_job, job_id))
        except (JobNotFound, Refusal):
            continue  # retention took it meanwhile, or the application does not show it: the operation leaves it out
    return found


class NewOperationForm(Form):
    """What was looked at, and that it is meant."""

    action: Action
    q: Annotated[str, Field(max_length=LONGEST)] | None = None
    jobs: str | None = None
    number: Annotated[int, Field(ge=0)]
    counted: bool = False
    typed: str | None = None
    priority: Annotated[int, Field(ge=-100, le=100)] | None = None
    queue: Annotated[str, Field(max_length=200)] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=500)]

    @property
    def preview(self) -> str:
        """Where it was looked at."""
        told = {
            "action": self.action, "q": self.q, "pick": self.jobs, "queue": self.queue,
            "priority": None if self.priority is None else str(self.priority),
        }  # fmt: skip
        return f"/operations/new?{urlencode({name: value for name, value in told.items() if value})}"


@batch.action("/operations/new")
async def begin(look: Look, form: NewOperationForm) -> Done:
    """Begin an operation."""
    word = word_to_type(form.action, form.number, is_all=form.counted)
    if word is not None and (form.typed or "").replace(",", "") != word:
        return Done(f"Nothing was done: type {word} to confirm.", form.preview)
    body = NewOperationBody(
        action=form.action,
        priority=form.priority,
        queue=form.queue,
        q=None if form.jobs else form.q,
        jobs=list(read_ids(form.jobs)) if form.jobs else None,
        reason=form.reason,
        at_most=most_of(form.number) if form.counted else None,
    )
    try:
        made = await look.at(create_operation, body)
    except (TooManyJobs, BadInput) as refused:
        raise NothingDone(str(refused), form.preview) from refused
    are = "is" if made.total == 1 else "are"
    return Done(f"Begun: {amount(made.total)} {are} {done_to(made)}.", f"/operations/{made.id}")


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
    left = f"{operation.done:,} of {operation.total:,} {done_to(operation)}, {operation.skipped:,} skipped"
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
        "label": label_of(operation),
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
    told = [(operation, label_of(operation), amount(operation.total)) for operation in found.items]
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
