"""The story of a job in one list: its moves, attempts, steps, questions to people, calls from outside, and what operators did."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Literal, TypeAlias, get_args
from uuid import UUID

from holdfast.domain.sentence import error_name
from holdfast.domain.states import Status
from holdfast.interfaces.http.api.alerts import ActionView
from holdfast.interfaces.http.api.approvals import ApprovalView
from holdfast.interfaces.http.api.job_story import HappeningView
from holdfast.interfaces.http.api.job_views import AttemptView, JobView, StepView, TransitionView
from holdfast.interfaces.http.dashboard.rendering import span

Filter: TypeAlias = Literal["all", "failures", "people", "steps"]
FILTERS: tuple[Filter, ...] = get_args(Filter)
Kind: TypeAlias = Literal["move", "step", "person", "outside", "operator", "undo"]

_ENDS: dict[Status, str] = {
    Status.PENDING: "Created",
    Status.RETRY: "To be run again",
    Status.WAITING_FOR_APPROVAL: "Waits for approval",
    Status.WAITING: "Waits",
    Status.COMPLETED: "Completed",
    Status.FAILED: "Failed",
    Status.CANCELLED: "Stopped",
}
_HAPPENINGS = {
    "callback.started": "Its run says that it has started",
    "callback.heartbeat": "Its run says that it is alive",
    "callback.progress": "Its run says how far it has come",
    "callback.completed": "Its run says that it has completed",
    "callback.failed": "Its run says that it has failed",
    "dispatch.planned": "To be handed over",
    "dispatch.sent": "Handed over",
    "dispatch.failed": "Could not be handed over",
    "dispatch.cancelled": "Its run was told to stop",
    "event": "The event that it waited for came",
    "job.reprioritised": "Given another priority",
    "job.moved": "Moved to another queue",
}
# What a person changed of it: the facts in words.
_CHANGES = {"job.reprioritised", "job.moved"}
_ACTIONS = {"job.retry": "Ran it again", "job.reveal": "Looked at its payload"}
# What they did is a row of its own already: the move, the decision.
_TOLD_ELSEWHERE = {"job.cancel", "job.reprioritise", "job.move"}
_REPEATED = {"callback.heartbeat", "callback.progress"}
_LONGEST_DETAIL = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened, who did it, and how long after the one before."""

    at: datetime
    kind: Kind
    title: str
    actor: str | None = None
    detail: str | None = None
    status: Status | None = None
    is_failure: bool = False
    job_id: UUID | None = None  # another job that it leads to
    times: int = 1
    gap: timedelta | None = None
    is_small: bool = False  # its code says so

    def fits(self, chosen: Filter) -> bool:
        """Whether a filter lets it through."""
        match chosen:
            case "all":
                return True
            case "failures":
                return self.is_failure
            case "people":
                return self.kind in {"person", "operator"}
            case "steps":
                return self.kind in {"step", "undo"}


@dataclass(frozen=True, slots=True)
class Fold:
    """Entries that follow each other and that nobody has to read, told as one."""

    entries: tuple[Entry, ...]

    @property
    def gap(self) -> timedelta | None:
        """How long after the entry before the first of them came."""
        return self.entries[0].gap

    @property
    def title(self) -> str:
        """How many there are."""
        return "1 small step" if len(self.entries) == 1 else f"{len(self.entries)} small steps"


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that is known about a job, as the API tells it."""

    job: JobView
    history: Sequence[TransitionView] = ()
    attempts: Sequence[AttemptView] = ()
    steps: Sequence[StepView] = ()
    approvals: Sequence[ApprovalView] = ()
    activity: Sequence[HappeningView] = ()
    actions: Sequence[ActionView] = ()
    undoing: JobView | None = None


def folded(entries: Iterable[Entry]) -> list[Entry | Fold]:
    """Fold what is small: where a reader looks for what matters, it is one line."""
    made: list[Entry | Fold] = []
    for is_small, some in groupby(entries, lambda entry: entry.is_small):
        together = tuple(some)
        made += [Fold(together)] if is_small else together
    return made


def timeline(told: Told, chosen: Filter = "all") -> list[Entry]:
    """Tell a job's story from its beginning."""
    entries = [
        *_moves(told.history, told.attempts),
        *map(_step, told.steps),
        *_questions(told.approvals),
        *_happenings(told.activity),
        *_operators(told.actions),
        *_undoing(told.undoing),
    ]
    entries.sort(key=lambda entry: entry.at)
    return _with_gaps([entry for entry in _together(entries) if entry.fits(chosen)])


def _moves(history: Sequence[TransitionView], attempts: Sequence[AttemptView]) -> Iterable[Entry]:
    left = {attempt.attempt: attempt for attempt in attempts}
    for move in history:
        attempt = left.get(move.attempt) if move.from_status is Status.RUNNING else None
        error = error_words(attempt.error) if attempt and attempt.error else None
        yield Entry(
            move.at,
            "move",
            _moved(move),
            move.actor,
            _joined(move.reason, error),
            move.to_status,
            is_failure=move.to_status is Status.FAILED or error is not None,
        )


def _moved(move: TransitionView) -> str:
    if move.to_status is Status.RUNNING:
        return f"Attempt {move.attempt} started"
    return _ENDS[move.to_status]


def error_words(error: dict[str, Any]) -> str:
    """Write an error in a line."""
    message = " ".join(str(error.get("message") or "").split())
    return f"{error_name(error)}: {message}"[:_LONGEST_DETAIL] if message else error_name(error)


def _joined(*parts: str | None) -> str | None:
    told = list(dict.fromkeys(part for part in parts if part))
    # A reason often is the error already.
    told = [part for part in told if not any(part in other and part != other for other in told)]
    return "; ".join(told) or None


def _step(step: StepView) -> Entry:
    tries = f" in {step.tries} tries" if step.tries > 1 else ""
    kind: Kind = "undo" if step.kind == "undo" else "step"
    what = "Undone" if kind == "undo" else _STEP_WORDS.get(step.kind, "Step")
    name = step.name.removeprefix("undo ") if kind == "undo" else step.name
    return Entry(
        step.finished_at,
        kind,
        f"{what} {name}",
        None,
        f"took {span(step.finished_at - step.started_at)}{tries}, attempt {step.attempt}",
        is_small=step.importance == "low",
    )


_STEP_WORDS = {
    "transaction": "Transaction",
    "sleep": "Slept",
    "event": "Event for",
    "jobs": "Jobs for",
    "children": "Children for",
    "approval": "Approval for",
}


def _questions(approvals: Sequence[ApprovalView]) -> Iterable[Entry]:
    for approval in approvals:
        yield Entry(approval.asked_at, "person", f"Asked: {approval.question}", approval.requester)
        for voice in approval.voices:
            word = "Approved" if voice.decision == "approve" else "Denied"
            yield Entry(
                voice.at,
                "person",
                f"{word} {approval.name}",
                voice.who,
                voice.reason,
                is_failure=voice.decision != "approve",
            )


def _happenings(activity: Sequence[HappeningView]) -> Iterable[Entry]:
    for each in activity:
        if each.kind.startswith("approval."):
            continue  # the approvals tell it with their words
        if each.kind in _CHANGES:
            yield _changed(each)
            continue
        facts = ", ".join(f"{key} {value}" for key, value in (each.data or {}).items() if value is not None)
        yield Entry(
            each.at,
            "outside",
            _HAPPENINGS.get(each.kind, each.kind),
            each.actor,
            facts[:_LONGEST_DETAIL] or None,
            is_failure=each.kind.endswith(".failed"),
        )


def _changed(each: HappeningView) -> Entry:
    told = each.data or {}
    detail = _joined(f"from {told.get('from')} to {told.get('to')}", told.get("reason"))
    return Entry(each.at, "operator", _HAPPENINGS[each.kind], each.actor, detail)


def _operators(actions: Sequence[ActionView]) -> Iterable[Entry]:
    for action in actions:
        if action.action in _TOLD_ELSEWHERE:
            continue
        to = (action.data or {}).get("retried_as")
        yield Entry(
            action.at,
            "operator",
            _ACTIONS.get(action.action, action.action),
            action.actor,
            action.reason,
            job_id=UUID(to) if to else None,
        )


def _undoing(undoing: JobView | None) -> Iterable[Entry]:
    if undoing is not None:
        yield Entry(
            undoing.created_at,
            "undo",
            "What it had done is undone",
            None,
            undoing.why,
            undoing.status,
            is_failure=undoing.status is Status.FAILED,
            job_id=undoing.id,
        )


def _together(entries: Sequence[Entry]) -> list[Entry]:
    """Tell signs of life that follow each other once."""
    repeated = {_HAPPENINGS[kind] for kind in _REPEATED}
    made: list[Entry] = []
    for entry in entries:
        if made and entry.title in repeated and made[-1].title == entry.title:
            made[-1] = replace(entry, times=made[-1].times + 1)
        else:
            made.append(entry)
    return made


def _with_gaps(entries: Sequence[Entry]) -> list[Entry]:
    return [
        replace(entry, gap=entry.at - entries[number - 1].at) if number else entry
        for number, entry in enumerate(entries)
    ]
