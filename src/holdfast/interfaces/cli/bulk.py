"""Doing something to many jobs at once: `--all-matching`, with `--dry-run` to look first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from holdfast.domain.bulk import Action, Change, search_for
from holdfast.domain.search import Search
from holdfast.interfaces.cli.invocation import confirm, confirm_by_typing, current, say
from holdfast.interfaces.cli.output import clock_time, emit_one, plain
from holdfast.interfaces.cli.searching import read_search, taken, with_options

_SAMPLES = 5
_COUNTED = 10_000
_DONE: dict[Action, str] = {
    "retry": "retried",
    "cancel": "cancelled",
    "reprioritise": "given their priority",
    "move": "moved",
    "delete": "deleted",
}


@dataclass(frozen=True, slots=True)
class Many:
    """Which jobs are meant, where one is not."""

    all_matching: bool
    dry_run: bool
    search: Search

    @property
    def is_asked_for(self) -> bool:
        """Whether anything was said about many jobs."""
        return self.all_matching or self.dry_run or bool(self.search.terms)


def many(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which jobs; it gets them as one `which`."""

    @wraps(command)
    def many(*, all_matching: bool, dry_run: bool, **given: Any) -> Any:
        return command(which=Many(all_matching, dry_run, read_search(**taken(given))), **given)

    with_dry_run = click.option(
        "--dry-run", is_flag=True, help="With --all-matching: say how many there are, and show some."
    )
    with_all = click.option(
        "--all-matching", is_flag=True, help="All jobs that fit -q and the options beside it."
    )
    return with_all(with_dry_run(with_options(many)))


def operate(
    change: Change, job_id: str | None, which: Many, actor: str, reason: str | None, *, then_wait: bool
) -> None:
    """Do something to all jobs that match, by a job that a worker carries out."""
    from holdfast.interfaces.cli.waiting import wait_for
    from holdfast.runtime.bulk import asked, creating
    from holdfast.store.access import enter
    from holdfast.store.search import count_jobs

    if job_id is not None:
        raise click.UsageError("give an ID, or --all-matching with -q, not both")
    if not which.all_matching:
        raise click.UsageError("give an ID, or --all-matching with a search: -q 'task:charge error:Timeout'")
    action = change.action
    if which.dry_run:
        _preview(action, which.search)
        return
    counted = current().link.perform_once(count_jobs(search_for(action, which.search), _COUNTED))
    if counted.number == 0 and counted.is_all:
        say(f"no job that can be {_DONE[action]} fits")
        return
    question = f"{action.capitalize()} {_number(counted.number, counted.is_all)}{_to(change)}?"
    if action == "delete":
        confirm_by_typing(question, str(counted.number) if counted.is_all else "all")
    else:
        confirm(question)
    with current().link.transaction() as transaction:
        transaction.perform(enter("*"))
        made = asked(creating(change, which.search, actor, reason), transaction.perform)
    if then_wait:
        say(f"operation {made}")
        wait_for(made, None)
        return
    line = f"operation {made}: they will be {_DONE[action]} by a worker; holdfast job show {made} says how far it is"
    emit_one({"id": made, "action": action}, [line])


def _to(change: Change) -> str:
    set_to = change.queue if change.priority is None else change.priority
    return "" if set_to is None else f" to {set_to}"


def _preview(action: Action, search: Search) -> None:
    from holdfast.interfaces.cli.jobs import job_cells, job_columns
    from holdfast.interfaces.cli.output import table
    from holdfast.store.search import count_jobs, find_jobs

    fitting = search_for(action, search)
    counted = current().link.perform_once(count_jobs(fitting, _COUNTED))
    found = current().link.perform_once(find_jobs(fitting, _SAMPLES))
    told = f"{_number(counted.number, counted.is_all)} would be {_DONE[action]}"
    if found.since is not None:
        told += f" (created since {clock_time(found.since)}; further back: age:<30d)"
    ids = [job.id for job in found.jobs]
    shown = table(job_columns(), [job_cells(job) for job in found.jobs]) if found.jobs else ()
    emit_one({"count": counted.number, "is_all": counted.is_all, "samples": ids}, [plain(told), *shown])


def _number(count: int, is_all: bool) -> str:
    return f"{count:,}{'' if is_all else '+'} job{'' if count == 1 else 's'}"
