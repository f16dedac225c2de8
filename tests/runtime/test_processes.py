import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from holdfast.domain.errors import Configuration
from holdfast.runtime import processes as module
from holdfast.runtime.child import LARGEST_MESSAGE, inside_child
from holdfast.runtime.processes import (
    AppLocation,
    ChildDied,
    ChildFailedToStart,
    ChildGaveNoAnswer,
    Processes,
)

T = TypeVar("T")
Play = Callable[[Coroutine[Any, Any, T]], T]

SAMPLE = AppLocation("runtime.sample_tasks", "app")
PATIENCE_SECONDS = 10


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def play(request: pytest.FixtureRequest) -> Iterator[Play[Any]]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.run


@asynccontextmanager
async def children(
    limit: int = 2, location: AppLocation = SAMPLE, idle_seconds: float = 60
) -> AsyncIterator[Processes]:
    processes = Processes(location, limit, idle_seconds=idle_seconds)
    try:
        yield processes
    finally:
        await processes.close()


def ask(processes: Processes, task: str, *, timeout: float | None = None, **request: Any) -> Awaitable[Any]:
    return processes.run({"task": task, **request}, timeout=timeout)


def pipe(folder: Path, name: str) -> Path:
    path = folder / name
    os.mkfifo(path)
    return path


async def pid_in(begun: Path) -> int:
    """Wait for a job's announcement of a process."""
    return int(await asyncio.to_thread(begun.read_text))


class Departure:
    """The end of a process that exists now, whoever is its parent."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def seen(self, seconds: float = PATIENCE_SECONDS) -> bool:
        try:
            if select.select([self._descriptor], [], [], seconds)[0]:
                return True
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            return False
        finally:
            os.close(self._descriptor)


def script(folder: Path, text: str) -> Path:
    path = folder / "shop"
    path.write_text(textwrap.dedent(text))
    return path


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_returns_what_the_job_answered(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "echo", value={"naïve": [1, None, "\x00"]})

    answer = play(story())

    assert answer["outcome"] == {"naïve": [1, None, "\x00"]}
    assert answer["pid"] != os.getpid()


def test_a_job_may_run_an_event_loop_of_its_own(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "add", numbers=[1, 2, 3])

    assert play(story()) == {"outcome": 6}


def test_a_child_that_answered_gets_the_next_job(play: Play[Any]) -> None:
    async def story() -> set[int]:
        async with children() as processes:
            return {(await ask(processes, "echo", value=n))["pid"] for n in range(5)}

    assert len(play(story())) == 1


def test_a_fresh_child_has_run_no_other_job(play: Play[Any]) -> None:
    async def story() -> list[int]:
        async with children(limit=1) as processes:
            used = await ask(processes, "echo", value=1)
            fresh = await processes.run({"task": "echo", "value": 2}, timeout=None, fresh=True)
            again = await ask(processes, "echo", value=3)
            return [used["pid"], fresh["pid"], again["pid"]]

    used, fresh, again = play(story())

    assert used != fresh
    assert fresh == again


# -- lines -----------------------------------------------------------------------------------------------------------------


async def heard_from(processes: Processes, task: str, **request: Any) -> list[Any]:
    """Have a job run, and give the lines that it told."""
    heard: list[Any] = []
    with contextlib.suppress(ChildDied):
        await processes.run({"task": task, **request}, timeout=None, hear=heard.append)
    return [line["message"] for line in heard]


def test_lines_are_heard_in_order_before_the_answer(play: Play[Any]) -> None:
    words = [f"line {number} {'x' * 2000}" for number in range(300)]

    async def story() -> list[Any]:
        async with children() as processes:
            return await heard_from(processes, "tell", words=words)

    assert play(story()) == words


def test_what_a_job_tells_after_its_end_is_not_taken_for_the_next_ones(play: Play[Any]) -> None:
    async def story() -> list[Any]:
        async with children(limit=1) as processes:
            await heard_from(processes, "tell", words=["mine"])
            return await heard_from(processes, "tell_for_the_last")

    assert play(story()) == []


def test_a_process_that_a_job_forked_tells_nothing(play: Play[Any]) -> None:
    async def story() -> list[Any]:
        async with children() as processes:
            return await heard_from(processes, "tell_in_a_fork")

    assert play(story()) == []


def test_a_handler_of_a_signal_may_tell_in_the_middle_of_a_line(play: Play[Any]) -> None:
    words = [f"line {number} {'x' * 20_000}" for number in range(300)]

    async def story() -> list[Any]:
        async with children() as processes:
            return await heard_from(processes, "tell_under_signals", words=words)

    assert [word for word in play(story()) if word != "alarm"] == words


def test_what_a_job_told_before_it_died_is_heard(play: Play[Any]) -> None:
    async def story() -> list[Any]:
        async with children() as processes:
            return await heard_from(processes, "tell_and_die")

    assert play(story()) == ["last words"]


@pytest.mark.parametrize("line", [None, 7, {}, {"message": None}])
def test_a_line_without_words_is_garbage(play: Play[Any], line: Any) -> None:
    async def story() -> None:
        async with children() as processes:
            with pytest.raises(ChildDied, match="garbage"):
                await ask(processes, "tell_nonsense", line=line)

    play(story())


# -- ends ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "exit_code", "words"),
    [
        ("leave", 3, "exited with code 3"),
        ("kill_itself", -signal.SIGKILL, "SIGKILL"),
        ("read_address_zero", -signal.SIGSEGV, "SIGSEGV"),
    ],
)
def test_a_childs_death_is_named_and_spares_its_neighbour(
    play: Play[Any], tmp_path: Path, task: str, exit_code: int, words: str
) -> None:
    begun, go = pipe(tmp_path, "begun"), pipe(tmp_path, "go")

    async def story() -> tuple[ChildDied, Any]:
        async with children() as processes:
            neighbour = asyncio.ensure_future(ask(processes, "hold", begun=str(begun), go=str(go)))
            await pid_in(begun)
            with pytest.raises(ChildDied, match=words) as death:
                await ask(processes, task, code=3)
            await asyncio.to_thread(go.write_text, "go")
            return death.value, await neighbour

    death, neighbour = play(story())

    assert death.exit_code == exit_code
    assert neighbour["outcome"] == "held"


def test_after_a_death_the_next_job_runs_in_a_new_child(play: Play[Any]) -> None:
    async def story() -> tuple[int, int]:
        async with children(limit=1) as processes:
            before = await ask(processes, "echo", value=1)
            with pytest.raises(ChildDied):
                await ask(processes, "kill_itself")
            after = await ask(processes, "echo", value=2)
            return before["pid"], after["pid"]

    before, after = play(story())

    assert before != after


def test_an_idle_child_that_was_killed_costs_the_next_job_nothing(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children(limit=1) as processes:
            idle = (await ask(processes, "echo", value=1))["pid"]
            (child,) = processes._children
            os.kill(idle, signal.SIGKILL)
            await asyncio.wait({child.ended}, timeout=PATIENCE_SECONDS)
            return await ask(processes, "echo", value=2)

    assert play(story())["outcome"] == 2


def test_a_timeout_kills_the_child(play: Play[Any], tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", pipe(tmp_path, "go")

    async def story() -> bool:
        async with children(limit=1) as processes:
            pid = (await ask(processes, "echo", value="warm"))["pid"]
            with pytest.raises(TimeoutError):
                await ask(processes, "hold", begun=str(begun), go=str(go), timeout=0.1)
            return exists(pid)

    assert play(story()) is False


def test_cancellation_kills_the_child(play: Play[Any], tmp_path: Path) -> None:
    begun, go = pipe(tmp_path, "begun"), pipe(tmp_path, "go")

    async def story() -> bool:
        async with children() as processes:
            held = asyncio.ensure_future(ask(processes, "hold", begun=str(begun), go=str(go)))
            pid = await pid_in(begun)
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
            return exists(pid)

    assert play(story()) is False


def test_killing_a_child_ends_what_its_job_started(play: Play[Any], tmp_path: Path) -> None:
    begun = pipe(tmp_path, "begun")

    async def story() -> Departure:
        async with children() as processes:
            job = asyncio.ensure_future(ask(processes, "start_a_program_and_hold", begun=str(begun)))
            program = Departure(await pid_in(begun))
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            return program

    assert play(story()).seen()


def test_a_death_is_noticed_though_a_daemon_keeps_the_socket_open(play: Play[Any], tmp_path: Path) -> None:
    daemon = tmp_path / "daemon"

    async def story() -> int:
        async with children() as processes:
            with pytest.raises(ChildDied) as death:
                await ask(processes, "leave_a_daemon_behind_and_die", daemon=str(daemon))
            return death.value.exit_code

    exit_code = play(story())
    os.kill(int(daemon.read_text()), signal.SIGKILL)

    assert exit_code == 4


def test_printing_does_not_disturb_the_answer(play: Play[Any], capfd: pytest.CaptureFixture[str]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "write_to_standard_output")

    assert play(story()) == {"outcome": "written"}
    assert capfd.readouterr().out.count("a line of the job's own\n") == 1_000


def test_a_mebibyte_goes_there_and_back(play: Play[Any]) -> None:
    value = "ü" * (1024 * 1024)

    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "echo", value=value)

    assert play(story())["outcome"] == value


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("answer_a_set", "set is not JSON serializable"),
        ("answer_too_much", f"{LARGEST_MESSAGE} are allowed"),
        ("call_exit", "SystemExit: enough"),
        ("no_such_task", "KeyError: 'no_such_task'"),
    ],
)
def test_an_answer_that_cannot_be_sent_is_explained(play: Play[Any], task: str, words: str) -> None:
    async def story() -> Any:
        async with children() as processes:
            with pytest.raises(ChildGaveNoAnswer, match=words) as refusal:
                await ask(processes, task, length=LARGEST_MESSAGE)
            return refusal.value.trace, await ask(processes, "echo", value="next")

    trace, following = play(story())

    assert "Traceback" in trace
    assert following["outcome"] == "next"


@pytest.mark.parametrize(
    "garbage",
    ["\xff\xff\xff\xff", "\x00\x00\x00\x02[]", "\x00\x00\x00\x02no", "\x00\x00\x00\x02\xff\xff"],
    ids=["too long", "no object", "no JSON", "no UTF-8"],
)
def test_a_child_that_sends_garbage_counts_as_dead(play: Play[Any], garbage: str) -> None:
    async def story() -> Any:
        async with children() as processes:
            with pytest.raises(ChildDied, match="garbage"):
                await ask(processes, "write_garbage", garbage=garbage)
            return await ask(processes, "echo", value="next")

    assert play(story())["outcome"] == "next"


@pytest.mark.parametrize(
    ("task", "exit_codes"),
    [
        ("die_in_the_middle_of_a_message", {0, -signal.SIGKILL}),
        ("close_all_descriptors", {1, -signal.SIGKILL}),  # one that takes its time to end is killed
        ("hang_up", {-signal.SIGKILL}),
    ],
)
def test_a_child_that_stops_talking_counts_as_dead(play: Play[Any], task: str, exit_codes: set[int]) -> None:
    async def story() -> int:
        async with children() as processes:
            with pytest.raises(ChildDied) as death:
                await ask(processes, task)
            return death.value.exit_code

    assert play(story()) in exit_codes


def test_a_request_too_large_is_refused_before_a_child_is_asked(play: Play[Any]) -> None:
    async def story() -> int:
        async with children() as processes:
            with pytest.raises(ValueError, match="are allowed"):
                await ask(processes, "echo", value="x" * LARGEST_MESSAGE)
            return len(processes._children)

    assert play(story()) == 0


def test_never_more_children_live_than_the_limit(play: Play[Any]) -> None:
    async def story() -> list[Any]:
        async with children(limit=2) as processes:
            jobs = [ask(processes, "kill_itself" if n % 3 == 0 else "count_siblings") for n in range(12)]
            fresh = [processes.run({"task": "count_siblings"}, timeout=None, fresh=True) for _ in range(4)]
            return await asyncio.gather(*jobs, *fresh, return_exceptions=True)

    answers = play(story())
    counts = [answer["outcome"] for answer in answers if isinstance(answer, dict)]

    assert len(counts) == 12
    assert set(counts) <= {1, 2}
    assert sum(isinstance(answer, ChildDied) for answer in answers) == 4


def test_a_child_nobody_needs_is_ended(play: Play[Any]) -> None:
    async def story() -> int | None:
        async with children(idle_seconds=0) as processes:
            await ask(processes, "echo", value=1)
            (child,) = processes._children
            await asyncio.wait({child.ended}, timeout=PATIENCE_SECONDS)
            return child.ended.result() if child.ended.done() else None

    assert play(story()) == 0


def test_closing_ends_all_children(play: Play[Any], tmp_path: Path) -> None:
    begun, go = pipe(tmp_path, "begun"), pipe(tmp_path, "go")

    async def story() -> list[int]:
        async with children() as processes:
            busy = asyncio.ensure_future(ask(processes, "hold", begun=str(begun), go=str(go)))
            pids = [await pid_in(begun), (await ask(processes, "echo", value=1))["pid"]]
            await processes.close()
            with pytest.raises(ChildDied):
                await busy
            return pids

    assert not any(exists(pid) for pid in play(story()))


def test_after_closing_no_child_is_started(play: Play[Any]) -> None:
    async def story() -> None:
        async with children() as processes:
            await processes.close()
            with pytest.raises(ChildFailedToStart, match="is ending"):
                await ask(processes, "echo", value=1)

    play(story())


def test_closing_while_a_child_starts_ends_it(play: Play[Any], tmp_path: Path) -> None:
    begun = pipe(tmp_path, "begun")
    path = script(
        tmp_path, f"import os, signal; open({str(begun)!r}, 'w').write(str(os.getpid())); signal.pause()"
    )

    async def story() -> int:
        async with children(location=AppLocation("__main__", "app", str(path))) as processes:
            starting = asyncio.ensure_future(processes.run({}, timeout=None))
            pid = await pid_in(begun)
            await processes.close()
            with pytest.raises(ChildFailedToStart):
                await starting
            return pid

    assert not exists(play(story()))


def test_a_thread_left_behind_does_not_keep_a_dismissed_child(
    play: Play[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAVING_SECONDS", 0.1)

    async def story() -> int:
        async with children() as processes:
            pid: int = (await ask(processes, "leave_a_thread_behind"))["pid"]
            await processes.close()
            return pid

    assert not exists(play(story()))


def test_a_child_stays_through_the_signals_meant_for_its_worker(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "terminate_itself")

    assert play(story()) == {"outcome": "stayed"}


def test_a_process_forked_by_a_job_obeys_sigterm(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "terminate_a_fork")

    assert play(story()) == {"outcome": -signal.SIGTERM}


def test_a_child_knows_it_is_one_and_has_a_session_of_its_own(play: Play[Any]) -> None:
    async def story() -> Any:
        async with children() as processes:
            return await ask(processes, "look_around")

    seen = play(story())

    assert seen == {"inside": True, "session": seen["pid"], "pid": seen["pid"], "argv": sys.argv}
    assert not inside_child()


@pytest.mark.parametrize(
    ("location", "words"),
    [
        (AppLocation("no_such_module", "app"), "No module named 'no_such_module'"),
        (AppLocation("runtime.sample_tasks", "no_such_app"), "no attribute 'no_such_app'"),
        (AppLocation("runtime.sample_tasks", "not_an_app"), "is a int, not a Holdfast app"),
    ],
)
def test_an_app_that_cannot_be_loaded_is_explained(
    play: Play[Any], location: AppLocation, words: str
) -> None:
    async def story() -> int:
        async with children(location=location) as processes:
            with pytest.raises(ChildFailedToStart, match=words):
                await ask(processes, "echo", value=1)
            return len(processes._children)

    assert play(story()) == 0


SCRIPT_APP = """
    class App:
        def run_in_child(self, request, tell):
            return {"name": __name__, "module": App.__module__, "file": __file__}

    app = App()
    if __name__ == "__main__":
        raise SystemExit("the guard was open")
    """


def test_an_app_in_a_script_is_loaded_by_path_with_its_guard_shut(play: Play[Any], tmp_path: Path) -> None:
    path = script(tmp_path, SCRIPT_APP)

    async def story() -> Any:
        async with children(location=AppLocation("__main__", "app", str(path))) as processes:
            return await processes.run({}, timeout=None)

    assert play(story()) == {"name": "__mp_main__", "module": "__mp_main__", "file": str(path)}


def test_a_crash_while_the_app_is_imported_is_a_failure_to_start(play: Play[Any], tmp_path: Path) -> None:
    path = script(tmp_path, "import os; os._exit(7)")

    async def story() -> None:
        async with children(location=AppLocation("__main__", "app", str(path))) as processes:
            with pytest.raises(ChildFailedToStart, match="exited with code 7"):
                await processes.run({}, timeout=None)

    play(story())


def test_an_app_in_a_module_is_located_by_name() -> None:
    assert AppLocation.of("shop.jobs", "app") == AppLocation("shop.jobs", "app")
    assert str(AppLocation.of("shop.jobs", "app")) == "shop.jobs:app"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["{folder}/shop.py"], "AppLocation(module='__main__', attribute='app', path='{folder}/shop.py')"),
        (["-m", "shop"], "AppLocation(module='shop', attribute='app', path=None)"),
    ],
)
def test_an_app_in_the_main_module_is_located_as_a_child_can_find_it(
    tmp_path: Path, arguments: list[str], expected: str
) -> None:
    (tmp_path / "shop.py").write_text(
        "from holdfast.runtime.processes import AppLocation; print(repr(AppLocation.of(__name__, 'app')))"
    )

    said = subprocess.run(
        [sys.executable, *(argument.format(folder=tmp_path) for argument in arguments)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )

    assert said.stdout.strip() == expected.format(folder=tmp_path)


def test_an_app_without_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", type(sys)("__main__"))

    with pytest.raises(Configuration, match="put it in a module"):
        AppLocation.of("__main__", "app")


WORKER = """
    import asyncio, sys
    from holdfast.runtime.processes import AppLocation, Processes

    async def work():
        processes = Processes(AppLocation("runtime.sample_tasks", "app"), 1)
        await processes.run({"task": sys.argv[1], "begun": sys.argv[2], "go": sys.argv[3]}, timeout=None)

    asyncio.run(work())
    """


@pytest.mark.parametrize("task", ["hold", "hold_without_the_kernels_help", "hold_the_interpreter_lock"])
def test_a_busy_child_does_not_outlive_its_worker(tmp_path: Path, task: str) -> None:
    begun, go = pipe(tmp_path, "begun"), pipe(tmp_path, "go")
    worker = subprocess.Popen(
        [sys.executable, script(tmp_path, WORKER), task, str(begun), str(go)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    child = Departure(int(begun.read_text()))

    worker.kill()
    worker.wait()

    assert child.seen()
