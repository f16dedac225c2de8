"""Jobs in child processes: a child's death fails the attempt in it and nothing else.

Not promised: that programs a job has started end with it when the worker itself is killed.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from holdfast.domain.errors import Configuration, HoldfastError
from holdfast.runtime.child import HEADER, JSON, LARGEST_MESSAGE, SCRIPT_NAME, pack

START_SECONDS = 60.0
IDLE_SECONDS = 60.0
LEAVING_SECONDS = 2.0
LAST_WORDS_SECONDS = 1.0
KILL_SECONDS = 5.0


class ChildDied(HoldfastError):
    """The child process ended before it answered; its job failed, nobody else's did."""

    def __init__(self, pid: int, exit_code: int, why: str = "") -> None:
        super().__init__(f"the job's process {pid} {why or _ending(exit_code)}; only this attempt was in it")
        self.pid = pid
        self.exit_code = exit_code


class ChildFailedToStart(HoldfastError):
    """No child process could be started for this app; no job was touched."""

    def __init__(self, location: "AppLocation", problem: str, trace: str = "") -> None:
        super().__init__(f"a child process could not load the app {location}: {problem}")
        self.location = location
        self.problem = problem
        self.trace = trace


class ChildGaveNoAnswer(HoldfastError):
    """The child ran the job and lives, but what came out of it cannot be sent back."""

    def __init__(self, problem: str, trace: str = "") -> None:
        super().__init__(f"the job's process has no answer to give: {problem}")
        self.problem = problem
        self.trace = trace


@dataclass(frozen=True, slots=True)
class AppLocation:
    """Where a child finds the app: an attribute of a module, or of the script the worker was started with."""

    module: str
    attribute: str
    path: str | None = None

    @classmethod
    def of(cls, module: str, attribute: str) -> Self:
        """Locate an app as the child will have to: `__main__` there is another program."""
        if module not in {"__main__", SCRIPT_NAME}:
            return cls(module, attribute)
        main = sys.modules["__main__"]
        if main.__spec__ is not None:
            return cls(main.__spec__.name, attribute)
        script = getattr(main, "__file__", None)
        if script is None:
            raise Configuration("an app typed into an interactive session has no file; put it in a module")
        return cls("__main__", attribute, str(Path(script).resolve()))

    def __str__(self) -> str:
        return f"{self.path or self.module}:{self.attribute}"


class Processes:
    """At most `limit` children, each with one job at a time; a child that answered is used again."""

    def __init__(self, location: AppLocation, limit: int, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._location = location
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._slots = asyncio.Semaphore(limit)
        self._children: set[_Child] = set()
        self._idle: list[_Child] = []
        self._closed = False

    async def run(
        self,
        request: Mapping[str, JSON],
        *,
        timeout: float | None,  # noqa: ASYNC109 - the caller's own timeout would count the wait for a free child
        fresh: bool = False,
        hear: Callable[[dict[str, JSON]], None] = lambda _line: None,
    ) -> dict[str, JSON]:
        """Have a child run one job; `fresh` asks for a child that has run none before, `hear` gets each line that it logs.

        The timeout counts from when a child has the job. Whatever ends this call early also kills the child.
        """
        message = pack(request)
        async with self._slots:
            child = await self._take(fresh=fresh)
            try:
                async with asyncio.timeout(timeout):
                    answer = await child.ask(message, hear)
            except BaseException:
                await child.killed()
                raise
            self._keep(child)
            return answer

    async def close(self) -> None:
        """End all children: idle ones by themselves, busy ones at once."""
        self._closed = True
        children = list(self._children)
        for child in children:
            if child in self._idle:
                child.dismiss()
            else:
                child.kill()
        self._idle.clear()
        for child in children:
            await child.gone(LEAVING_SECONDS + KILL_SECONDS)

    async def _take(self, *, fresh: bool) -> "_Child":
        while not self._closed and not fresh and self._idle:
            child = self._idle.pop()
            if child.lives():
                child.retires_by(None)
                return child
            child.kill()
        await self._make_room()
        if self._closed:
            raise ChildFailedToStart(self._location, "the worker is ending its child processes")
        return await self._start()

    async def _make_room(self) -> None:
        """Keep to the limit, counting those that were told to leave and have not gone yet."""
        while len(self._children) >= self._limit:
            if self._idle:
                self._idle.pop().kill()
            leaving = [child.ended for child in self._children if child.leaving]
            await asyncio.wait(leaving, return_when=asyncio.FIRST_COMPLETED)
            # Forgetting the dead is a callback of the same future: let it run before counting again.
            await asyncio.sleep(0)

    async def _start(self) -> "_Child":
        try:
            child = _Child(self._location)
        except OSError as error:
            raise ChildFailedToStart(self._location, str(error)) from error
        self._children.add(child)
        child.ended.add_done_callback(lambda _: self._forget(child))
        try:
            await self._greet(child)
        except BaseException:
            await child.killed()
            raise
        return child

    async def _greet(self, child: "_Child") -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                await child.greet(self._location)
        except TimeoutError as error:
            raise ChildFailedToStart(self._location, f"not done after {START_SECONDS:.0f} s") from error
        except ChildDied as error:
            raise ChildFailedToStart(self._location, f"it {_ending(error.exit_code)}") from error
        except ChildGaveNoAnswer as error:
            raise ChildFailedToStart(self._location, error.problem, error.trace) from error

    def _keep(self, child: "_Child") -> None:
        if self._closed or not child.lives():
            child.kill()
            return
        self._idle.append(child)
        child.retires_by(asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, child))

    def _retire(self, child: "_Child") -> None:
        if child in self._idle:
            self._idle.remove(child)
            child.dismiss()

    def _forget(self, child: "_Child") -> None:
        self._children.discard(child)
        if child in self._idle:
            self._idle.remove(child)
            child.kill()


class _Child:
    """One child process, the socket to it, and a thread that waits for its end."""

    def __init__(self, location: AppLocation) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self.leaving = False
        self._retirement: asyncio.TimerHandle | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._process, self._channel = _spawn(location)
        self._reaping = threading.Lock()
        threading.Thread(target=self._watch, name=f"holdfast-child-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def lives(self) -> bool:
        """Whether it may be given a job."""
        return not self.leaving and not self.ended.done()

    def retires_by(self, timer: asyncio.TimerHandle | None) -> None:
        """Replace the timer that ends it when nobody needs it."""
        if self._retirement is not None:
            self._retirement.cancel()
        self._retirement = timer

    async def greet(self, location: AppLocation) -> None:
        """Tell a new child which app it serves, and wait until it has imported it."""
        try:
            self._streams = await asyncio.open_unix_connection(sock=self._channel)
        except BaseException:
            self._channel.close()
            raise
        welcome: dict[str, JSON] = {
            "argv": [str(argument) for argument in sys.argv],
            "module": location.module,
            "attribute": location.attribute,
            "script": location.path,
        }
        await self.ask(pack(welcome), lambda _line: None)

    async def ask(self, message: bytes, hear: Callable[[dict[str, JSON]], None]) -> dict[str, JSON]:
        """Send one request and wait for its answer; lines come before it."""
        try:
            envelope = await self._unless_it_dies(self._exchange(message, hear))
        except (OSError, EOFError) as error:
            # The socket closes a moment before the process is gone; a child that only closed it is killed.
            await self.gone(LAST_WORDS_SECONDS)
            raise ChildDied(self.pid, await self.killed()) from error
        except (ValueError, RecursionError) as error:
            raise ChildDied(self.pid, await self.killed(), f"sent no answer but garbage ({error})") from error
        return _answer_in(envelope)

    def dismiss(self) -> None:
        """Let an idle child exit by itself, but not at leisure."""
        self.leaving = True
        self._hang_up()
        self.retires_by(self._loop.call_later(LEAVING_SECONDS, self.kill))

    def kill(self) -> None:
        """End it, and whatever its job has started, now."""
        self.leaving = True
        self._hang_up()
        self.retires_by(None)
        # Under the lock: once reaped, the number may be another process's.
        with self._reaping:
            if self._process.returncode is None:
                self._kill_group()

    async def killed(self) -> int:
        """Kill it and wait for its end, so that nobody takes the job up while it still runs."""
        self.kill()
        return await self.gone(KILL_SECONDS)

    async def gone(self, seconds: float) -> int:
        """Wait for its end, but no longer than this; its exit code, or that of a kill yet to take effect."""
        await asyncio.wait({self.ended}, timeout=seconds)
        return self.ended.result() if self.ended.done() else -signal.SIGKILL

    async def _exchange(self, message: bytes, hear: Callable[[dict[str, JSON]], None]) -> Mapping[str, JSON]:
        if self._streams is None or self.leaving:
            raise EOFError
        reader, writer = self._streams
        writer.write(message)
        await writer.drain()
        while True:
            (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
            if length > LARGEST_MESSAGE:
                raise ValueError(f"{length} bytes announced")
            envelope = _read_envelope(await reader.readexactly(length))
            match envelope:
                case {"line": {"message": str()} as line}:
                    hear(cast("dict[str, JSON]", line))
                case {"line": _}:
                    raise ValueError("a line without words")
                case _:
                    return envelope

    async def _unless_it_dies(self, talking: Coroutine[None, None, Mapping[str, JSON]]) -> Mapping[str, JSON]:
        exchange = asyncio.create_task(talking)
        try:
            either: set[asyncio.Task[Mapping[str, JSON]] | asyncio.Future[int]] = {exchange, self.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            # What it wrote before its end is still to be read. The end of the stream may never come: a
            # process that left the child's group can hold the socket open.
            await asyncio.wait({exchange}, timeout=LAST_WORDS_SECONDS)
            if not exchange.done():
                raise EOFError
            return exchange.result()
        finally:
            exchange.cancel()

    def _hang_up(self) -> None:
        # While the streams are still being made, greet closes the socket or finds itself leaving.
        if self._streams is not None:
            self._streams[1].transport.abort()

    def _watch(self) -> None:
        if hasattr(os, "waitid"):
            # Its number stays taken until it is reaped, so that the group can be killed by it.
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with self._reaping:
            self._kill_group()
            exit_code = self._process.wait()
        # The loop may have closed meanwhile: then nobody waits for the news.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._note_end, exit_code)

    def _note_end(self, exit_code: int) -> None:
        self.ended.set_result(exit_code)

    def _kill_group(self) -> None:
        # Already gone, or (macOS) nothing but a zombie.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def _spawn(location: AppLocation) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a new interpreter (no fork of a process that has threads) in a session of its own."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    path = ascii([str(entry) for entry in sys.path])
    code = (
        f"import sys; sys.path[:] = {path}; from holdfast.runtime.child import main; main({theirs.fileno()})"
    )
    with theirs:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, str(location)],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
    return process, ours


def _read_envelope(body: bytes) -> Mapping[str, JSON]:
    envelope = json.loads(body)
    if not isinstance(envelope, dict) or not envelope.keys() & {"answer", "problem", "line"}:
        raise ValueError("neither an answer nor a problem nor a line")
    return envelope


def _answer_in(envelope: Mapping[str, JSON]) -> dict[str, JSON]:
    match envelope:
        case {"answer": dict(answer)}:
            return answer
        case {"problem": str(problem), "traceback": str(trace)}:
            raise ChildGaveNoAnswer(problem, trace)
        case _:
            raise ChildGaveNoAnswer("run_in_child returned something that is no object")


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exited with code {exit_code} before it answered"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    hint = " (kill -9, or the kernel out of memory)" if exit_code == -signal.SIGKILL else ""
    return f"was ended by {name}{hint}"
