"""`holdfast schedule`: list, show, run, pause, resume and delete schedules, and tell their next times."""

from typing import TYPE_CHECKING

import click

from holdfast.domain.shell_words import argument
from holdfast.interfaces.cli.commands import NOT_FOUND, Command, Group
from holdfast.interfaces.cli.invocation import actor, confirm, current, say
from holdfast.interfaces.cli.output import Column, clock_time, dim, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.domain.schedule import Schedule, ScheduleRun


@click.group(cls=Group)
def schedule() -> None:
    """List, show, run, pause and resume schedules."""


@schedule.command("list", cls=Command)
def list_() -> None:
    """List schedules with their next and their newest time."""
    from holdfast.store.schedule import schedules

    found = current().link.perform_once(schedules())
    titles = ["SCHEDULE", "WHEN", "TASK", "NEXT", "NEWEST", "STATUS"]
    emit(
        [each.as_json() for each in found],
        [Column(title) for title in titles],
        [_cells(each) for each in found],
        "no schedule yet: declare one with @app.schedule(…) and start a worker, or use app.schedules.create",
    )


def _cells(schedule: "Schedule") -> list[str]:
    from holdfast.domain.sentence import ago

    next_at = schedule.next_at if schedule.is_active else None
    newest = (
        f"{schedule.last_outcome} {ago(schedule.last_slot, schedule.now)}" if schedule.last_slot else None
    )
    return [
        plain(schedule.name),
        plain(schedule.timing),
        plain(schedule.task),
        dim("-") if next_at is None else ago(next_at, schedule.now),
        newest or dim("-"),
        "active" if schedule.is_active else click.style(plain(schedule.status), fg="yellow"),
    ]


def _find(name: str) -> "Schedule":
    from holdfast.store.schedule import schedules

    found = current().link.perform_once(schedules(name))
    if not found:
        say(f"no schedule is called {plain(name)}; holdfast schedule list shows them")
        raise click.exceptions.Exit(NOT_FOUND)
    return found[0]


@schedule.command(cls=Command)
@click.argument("name")
@click.option(
    "--limit", type=click.IntRange(0, 10_000), default=20, show_default=True, help="How many times."
)
def show(name: str, limit: int) -> None:
    """Show one schedule, and what became of its newest times."""
    from holdfast.store.schedule import schedule_runs

    found = _find(name)
    runs = current().link.perform_once(schedule_runs(name, limit))
    emit_one(
        {**found.as_json(), "runs": [run._asdict() for run in runs]},
        [*_about(found), *(_told(run) for run in runs)],
    )


def _about(schedule: "Schedule") -> list[str]:
    next_at = schedule.next_at if schedule.is_active else None
    origin = "declared in code" if schedule.declared else "made at run time"
    return [
        f"{click.style(plain(schedule.name), bold=True)}: {plain(schedule.timing)} ({origin})",
        f"  task     {plain(schedule.task)}"
        + ("" if schedule.task_has_worker else click.style(", which no live worker has", fg="yellow")),
        f"  status   {plain(schedule.status)}",
        f"  next     {'-' if next_at is None else clock_time(next_at)}",
        f"  missed   {schedule.missed}",
        f"  overlap  {schedule.overlap}",
    ]


def _told(run: "ScheduleRun") -> str:
    several = f" and {run.times - 1} more until {clock_time(run.last_slot)}" if run.times > 1 else ""
    by = f" by {plain(run.actor)}" if run.outcome == "manual" else ""
    why = f": {plain(run.detail)}" if run.detail else ""
    job = f"  {run.job_id}" if run.job_id else ""
    return f"  {clock_time(run.slot)}{several}  {run.outcome}{by}{why}{job}"


@schedule.command("next", cls=Command)
@click.argument("name")
@click.option("-n", "count", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many.")
def next_(name: str, count: int) -> None:
    """Tell a schedule's next times in its own zone, from the database's now on."""
    from holdfast.domain.sentence import ago

    found = _find(name)
    times = found.next(count)
    if not found.is_active:
        say(f"note: schedule {plain(name)} is {plain(found.status)}")
    emit(
        [{"name": name, "at": at} for at in times],
        [Column("AT"), Column("IN")],
        [[at.strftime("%a %Y-%m-%d %H:%M:%S %Z"), ago(at, found.now)] for at in times],
        f"schedule {plain(name)} never fires again",
    )


@schedule.command(cls=Command)
@click.argument("name")
@click.option("--actor", "who", help="Who, for the history [your user name].")
@click.option("--wait", "then_wait", is_flag=True, help="Wait for the job; exit codes as job wait.")
def run(name: str, who: str | None, then_wait: bool) -> None:
    """Run a schedule's job now, once; its times stay as they are."""
    from holdfast.interfaces.cli.waiting import wait_for
    from holdfast.store.ids import new_id
    from holdfast.store.schedule import run_schedule

    job_id = current().link.perform(run_schedule(name, actor(who), new_id()))
    if then_wait:
        say(f"schedule {plain(name)} runs as {job_id}")
        wait_for(job_id, None)
    else:
        emit_one({"id": job_id, "name": name}, [f"schedule {plain(name)} runs as {job_id}"])


@schedule.command(cls=Command)
@click.argument("name")
@click.option("--reason", help="Why; shown with the schedule.")
@click.option("--actor", "who", help="Who [your user name].")
def pause(name: str, reason: str | None, who: str | None) -> None:
    """Let a schedule's times pass without firing until it is resumed; deployments do not change that."""
    from holdfast.store.schedule import pause_schedule

    current().link.perform(pause_schedule(name, actor(who), reason))
    emit_one(
        {"name": name, "status": "paused"},
        [
            f"schedule {plain(name)} is paused; resume it with: holdfast schedule resume {plain(argument(name))}"
        ],
    )


@schedule.command(cls=Command)
@click.argument("name")
def resume(name: str) -> None:
    """Fire again from now on; what passed during the pause does not run."""
    from holdfast.store.schedule import resume_schedule

    if not current().link.perform(resume_schedule(name)):
        say(f"schedule {plain(name)} was not paused")
    found = _find(name)
    state = found.as_json()["status"]
    emit_one({"name": name, "status": state}, [f"schedule {plain(name)} is {plain(found.status)}"])


@schedule.command(cls=Command)
@click.argument("name")
def delete(name: str) -> None:
    """Forget a schedule; one that code declares comes back when a worker starts."""
    from holdfast.store.schedule import delete_schedule

    found = _find(name)
    confirm(f"Delete schedule {plain(name)} ({plain(found.timing)})?")
    current().link.perform(delete_schedule(name))
    emit_one({"name": name, "status": "deleted"}, [f"schedule {plain(name)} is deleted"])
    if found.declared and found.withdrawn_at is None:
        say("note: code declares it, so the next worker that starts makes it anew; pause it to keep it still")
