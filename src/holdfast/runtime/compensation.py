"""Compensation: the job is replayed as far as it had come to learn what to undo, and then undone, step by step.

The functions that undo steps are named in the task's code and nowhere else, so the code is what is asked for them.
The replay ends with the last step that has something to undo: nothing after it is run.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.domain.step import StepsChanged
from holdfast.runtime.context import Context, SyncContext
from holdfast.runtime.durable import Durable, EndOfReplay, Work
from holdfast.runtime.plans import Plan

if TYPE_CHECKING:
    from holdfast.runtime.registry import AnyTask

# A second for what runs beside: nothing in a replay waits for anything but the database.
_TURNS, _TURN = 100, 0.01


async def undo(task: "AnyTask", context: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Undo a job of an async task."""
    history = _history_of(context, task)
    replay = Context(history.job, task)
    replay.replay(history)
    await context.carry_out(replay.durable.load())
    if replay.durable.steps.undoable:
        with suppress(EndOfReplay):
            try:
                await task.function(replay, *args, **kwargs)
            except BaseExceptionGroup as group:  # a task group has wrapped what ended the replay
                _unless_ended(group)
            except StepsChanged:
                raise
            except Exception:  # noqa: BLE001, S110 - what failed the job fails its replay at the same place
                pass
        await _others(replay)
    await context.carry_out(_undo(task, context, replay, args, kwargs))


async def _others(replay: Context) -> None:
    """Let branches go on that the task has left behind: one that failed ends a gather, the others still have steps to name."""
    for _ in range(_TURNS):
        if replay.durable.all_collected:
            return
        await asyncio.sleep(_TURN)


def undo_sync(task: "AnyTask", context: SyncContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Undo a job of a task that is not async."""
    history = _history_of(context, task)
    replay = SyncContext(history.job, task)
    replay.replay(history)
    context.carry_out(replay.durable.load())
    if replay.durable.steps.undoable:
        with suppress(EndOfReplay):
            try:
                task.function(replay, *args, **kwargs)
            except StepsChanged:
                raise
            except Exception:  # noqa: BLE001, S110 - as above
                pass
    context.carry_out(_undo(task, context, replay, args, kwargs))


def _history_of(context: Context | SyncContext, task: "AnyTask") -> Durable:
    compensated = context.compensates or context.job_id
    original = context.claimed._replace(id=compensated, attempt=2)  # so that its book is read
    return Durable(original, task.settings, lambda: None, lambda: context.stopped, replayed=[])


def _undo(
    task: "AnyTask",
    context: Context | SyncContext,
    replay: Context | SyncContext,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Plan[None]:
    function = task.settings.compensate
    if function is None:
        return context.durable.undo(replay.durable, None)
    first = (context,) if task.undo_takes_context else ()
    undone = Work(partial(function, *first, *args, **kwargs), (), keeps_value=False)
    return context.durable.undo(replay.durable, undone)


def _unless_ended(group: BaseExceptionGroup[BaseException]) -> None:
    """Let a task group's error pass, unless something in it is neither the end of the replay nor an ordinary error."""
    _, others = group.split((EndOfReplay, Exception))
    if others is not None:
        raise others
