"""Hooks around attempts and wrappers around functions, with a real worker: what they see, and what they cannot do."""

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast import Configuration, Holdfast, Status
from holdfast.testing import TestServer
from integrations import watched
from world.draining import drain

ENDS: list[tuple[Any, list[str]]] = [
    (watched.fails, ["LookupError"]),
    (watched.hangs, ["TimeoutError"]),
    (watched.hangs_in_a_thread, ["TimeoutError"]),
    (watched.unwritable, ["BadPayload"]),
    (watched.gives_up, ["Cancel"]),
    (watched.asks_again, ["Retry", "Retry"]),
    (watched.rests, ["ended"]),  # an attempt that waits has come to a good end
    (watched.dies, ["ChildDied"]),
    (watched.fails_there, ["ended"]),  # the child's own hook has seen it
]


BOUND: list[Any] = [watched.on_the_loop, watched.in_a_thread, watched.in_a_process]


@dataclass
class Worked:
    """What came of all the tasks, run once."""

    results: list[Any]
    seen: dict[str, list[str]]


@pytest.fixture(scope="module")
def worked(holdfast_server: TestServer) -> Worked:
    with holdfast_server.database() as database:
        database.use(watched.app)
        watched.seen.clear()
        handles = [task.using(tenant="acme").enqueue() for task in BOUND]
        for task, _ in ENDS:
            task.enqueue()
        drain(watched.app)
        seen = {task.name: [how for name, how in watched.seen if name == task.name] for task, _ in ENDS}
        return Worked([handle.result() for handle in handles], seen)


def test_what_a_hook_binds_is_there_for_the_task_wherever_it_runs(worked: Worked) -> None:
    on_the_loop, in_a_thread, in_a_process = worked.results

    assert on_the_loop == ["MainThread", "acme"]
    assert in_a_thread[0].startswith("holdfast-task-")
    assert in_a_thread[1] == "acme"
    assert in_a_process[1][1] == "acme"
    assert in_a_process[1][0] != os.getpid()
    assert watched.tenant.get() is None


def test_a_hook_sees_the_error_that_ended_each_attempt_once(worked: Worked) -> None:
    assert worked.seen == {task.name: ends for task, ends in ENDS}


def test_a_task_that_is_called_is_not_wrapped() -> None:
    assert watched.in_a_thread() is None


def test_a_hook_that_fails_before_the_task_fails_the_attempt_and_one_that_fails_after_does_not(
    app: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []
    left: list[str] = []

    @app.around
    @contextmanager
    def outer(ctx: Any) -> Iterator[None]:
        try:
            yield
        finally:
            left.append(ctx.task)
            raise OSError("cannot push metrics")

    @app.around
    def inner(ctx: Any) -> Iterator[None]:
        if ctx.task == "refused":
            raise LookupError("no such tenant")
        yield

    @app.task(retries=0)
    def refused() -> None:
        called.append("refused")

    @app.task(retries=0)
    def done() -> None:
        called.append("done")

    handles = [refused.enqueue(), done.enqueue()]
    drain(app)

    assert [handle.status() for handle in handles] == [Status.FAILED, Status.COMPLETED]
    assert called == ["done"]
    assert sorted(left) == ["done", "refused"]
    assert "around:failed" in caplog.messages


def test_a_hook_cannot_make_a_failure_a_success(app: Holdfast) -> None:
    @app.around
    def swallowing(_ctx: Any) -> Iterator[None]:
        try:
            yield
        except LookupError:
            return

    @app.task(retries=0)
    def fails() -> None:
        raise LookupError

    handle = fails.enqueue()
    drain(app)

    assert handle.status() is Status.FAILED


def test_a_wrapper_is_around_what_undoes_a_job_too(app: Holdfast) -> None:
    around: list[str] = []

    @app.wrap
    def noting(function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
        async def run(*args: Any, **kwargs: Any) -> Any:
            around.append("begin")
            try:
                return await function(*args, **kwargs)
            finally:
                around.append("end")

        return run

    async def undo() -> None:
        around.append("undo")

    @app.task(retries=0, compensate=undo)
    async def fails() -> None:
        raise LookupError

    fails.enqueue()
    drain(app)

    assert around == ["begin", "end", "begin", "undo", "end"]


def test_what_cannot_be_put_around_is_refused_at_once(app: Holdfast) -> None:
    @app.task()
    async def loops() -> None: ...

    async def hook(_ctx: Any) -> None: ...

    def blocking(_function: Any) -> Any:
        return lambda: None

    with pytest.raises(Configuration, match="hook is async: what is put around attempts is a def"):
        app.around(hook)  # type: ignore[type-var]
    with pytest.raises(Configuration, match=r"made of .*loops, an async def, a def"):
        app.wrap(blocking)
