"""Are the schedules kept: what doctor says about them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from holdfast.domain.health import Check, Verdict
from holdfast.domain.schedule import Schedule
from holdfast.domain.sentence import ago, span

VERY_LATE = timedelta(minutes=5)
NAMED = 5


def judge_schedules(schedules: list[Schedule]) -> Iterator[Check]:
    """Say which schedules do not fire as they should, and what to do."""
    active = [each for each in schedules if each.is_active]
    yield _late(active)
    yield _homeless(active)
    yield from _withdrawn(schedules)


def _late(active: Sequence[Schedule]) -> Check:
    # One without a next time has waited since it was made or resumed for a worker to compute it.
    late = [(each, each.next_at or each.settled_to) for each in active]
    late = [(each, since) for each, since in late if each.now - since > VERY_LATE]
    if not late:
        return Check(
            "schedules", Verdict.OK, f"{len(active)} active, none is late" if active else "none active"
        )
    named = ", ".join(
        f"{each.name} ({'due ' + ago(since, each.now) if each.next_at else 'waits for a worker for ' + span(each.now - since)})"
        for each, since in late[:NAMED]
    )
    advice = "workers fire schedules: start one (holdfast -a module:app worker), or look for schedule:refused in their logs"
    return Check("schedules", Verdict.WARN, f"{len(late)} late: {named}", advice)


def _homeless(active: Sequence[Schedule]) -> Check:
    homeless = [each for each in active if not each.task_has_worker]
    if not homeless:
        return Check("tasks of schedules", Verdict.OK, "live workers have them all")
    named = ", ".join(f"{each.name} (task {each.task})" for each in homeless[:NAMED])
    advice = "start a worker whose app has the task, or: holdfast schedule delete NAME"
    return Check(
        "tasks of schedules",
        Verdict.WARN,
        f"no live worker has the tasks of these schedules: {named}",
        advice,
    )


def _withdrawn(schedules: Sequence[Schedule]) -> Iterator[Check]:
    gone = [each for each in schedules if each.withdrawn_at is not None]
    if gone:
        named = ", ".join(each.name for each in gone[:NAMED])
        advice = "if that was meant: holdfast schedule delete NAME; if not, put @app.schedule(…) back"
        yield Check("withdrawn schedules", Verdict.WARN, f"no code declares these any more: {named}", advice)
