"""The child's side of the process executor: one job at a time, never for longer than its worker lives."""

import contextlib
import ctypes
import faulthandler
import importlib
import json
import operator
import os
import queue
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Protocol, TypeAlias, cast

from holdfast.runtime.garbage import seldom

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"

LARGEST_MESSAGE = 8 * 1024 * 1024  # payload and result are 256 KiB at most; the rest is log lines
HEADER = struct.Struct("!I")
SCRIPT_NAME = (
    "__mp_main__"  # the name multiprocessing gives a re-imported script: its `__main__` guard stays shut
)

STOPPING = (signal.SIGTERM, signal.SIGINT)
LEAVING_SECONDS = 5.0
OOM_PREFERENCE = 300
LARGEST_OOM_PREFERENCE = 1000
PR_SET_PDEATHSIG = 1

_became_child = threading.Event()


class RunsJobs(Protocol):
    """What the child needs of an app."""

    def run_in_child(
        self, request: dict[str, JSON], tell: Callable[[dict[str, JSON]], None]
    ) -> dict[str, JSON]:
        """Run one job, tell each line that it logs, and say how it ended."""


def inside_child() -> bool:
    """Whether this process is a child that runs jobs for a worker."""
    return _became_child.is_set()


def pack(message: Mapping[str, JSON]) -> bytes:
    """Write a message as JSON with its length in front; a ValueError or TypeError says why it cannot be."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > LARGEST_MESSAGE:
        raise ValueError(f"the message has {len(body)} bytes; {LARGEST_MESSAGE} are allowed")
    return HEADER.pack(len(body)) + body


def main(descriptor: int) -> None:
    """Answer the worker's requests until it hangs up."""
    _became_child.set()
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    _die_with_the_worker()
    _go_first_when_memory_ends()
    _leave_stopping_to_the_worker(channel)
    if sys.stderr is not None:
        faulthandler.enable()
    _serve(_Line(channel))


def _serve(line: "_Line") -> None:
    welcome = line.next_request()
    if welcome is None:
        return
    try:
        with seldom():
            app = _find_app(welcome)
    except BaseException as error:  # noqa: BLE001 - a script may even call sys.exit while it is imported
        line.answer(_problem(error))
        return
    line.answer(pack({"answer": {"pid": os.getpid()}}))
    while (request := line.next_request()) is not None:
        line.answer(_answer(app, request, line.teller()))


def _answer(app: RunsJobs, request: dict[str, JSON], tell: Callable[[dict[str, JSON]], None]) -> bytes:
    try:
        return pack({"answer": app.run_in_child(request, tell)})
    except BaseException as error:  # noqa: BLE001 - whatever escaped, the worker has to hear of it
        return _problem(error)
    finally:
        _flush_output()


def _problem(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(error))
    summary = "".join(traceback.format_exception_only(error)).strip()
    return pack({"problem": summary[-2_000:], "traceback": text[-20_000:]})


def _flush_output() -> None:
    # A child may be killed at any time between two jobs; what a job printed should not go with it.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _find_app(welcome: dict[str, JSON]) -> RunsJobs:
    sys.argv = cast("list[str]", welcome["argv"])
    script = cast("str | None", welcome["script"])
    name = cast("str", welcome["module"])
    module = importlib.import_module(name) if script is None else _import_script(script)
    app = operator.attrgetter(cast("str", welcome["attribute"]))(module)
    if not callable(getattr(app, "run_in_child", None)):
        raise TypeError(
            f"{welcome['attribute']} of {script or name} is a {type(app).__name__}, not a Holdfast app"
        )
    return cast("RunsJobs", app)


def _import_script(path: str) -> ModuleType:
    """Import the script the worker was started with, as multiprocessing's spawn does."""
    module = ModuleType(SCRIPT_NAME)
    module.__file__ = path
    # Without a __spec__, a multiprocessing pool inside a job finds the script by its __file__.
    module.__spec__ = None
    sys.modules["__main__"] = sys.modules[SCRIPT_NAME] = module
    SourceFileLoader(SCRIPT_NAME, path).exec_module(module)
    return module


class _Line:
    """The socket to the worker: a thread hears it, also while the main thread is busy with a job."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._requests: queue.SimpleQueue[dict[str, JSON] | None] = queue.SimpleQueue()
        self._busy = threading.Event()
        self._sending = threading.RLock()
        self._is_telling = False
        self._speaker: object = None
        os.register_at_fork(after_in_child=self._fall_silent)
        threading.Thread(target=self._listen, name="holdfast-line", daemon=True).start()

    def next_request(self) -> dict[str, JSON] | None:
        """Wait for the next request; None when the worker hung up."""
        return self._requests.get()

    def answer(self, message: bytes) -> None:
        """Send the answer to the last request."""
        # Before sending: the next request may arrive before sendall returns.
        self._busy.clear()
        with self._sending:
            self._speaker = None
            try:
                self._channel.sendall(message)
            except OSError:
                # Without a way to answer (a job may have closed every descriptor) only an end tells the worker.
                os._exit(1)

    def teller(self) -> Callable[[dict[str, JSON]], None]:
        """Give a way to tell lines before the answer. A thread that a job left behind may still use it: it is heard no more."""
        mine = self._speaker = object()

        def tell(line: dict[str, JSON]) -> None:
            with self._sending:
                # A signal's handler may log in the middle of a line: that one comes with the answer.
                if self._speaker is not mine or self._is_telling:
                    return
                self._is_telling = True
                with contextlib.suppress(OSError):  # the answer finds it out, and ends this process
                    self._channel.sendall(pack({"line": line}))
                self._is_telling = False

        return tell

    def _fall_silent(self) -> None:
        # In a process forked by a job: the socket is not its own, and another thread may have held the lock.
        self._sending = threading.RLock()
        self._speaker = None

    def _listen(self) -> None:
        try:
            while True:
                (length,) = HEADER.unpack(self._receive(HEADER.size))
                request = json.loads(self._receive(length))
                self._busy.set()
                self._requests.put(request)
        except (OSError, EOFError):
            pass  # the worker hung up
        finally:
            self._leave()

    def _receive(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            some = self._channel.recv(length - len(received))
            if not some:
                raise EOFError
            received += some
        return bytes(received)

    def _leave(self) -> None:
        # Nobody would record what a busy child still did; its own children (the whole group) end with it.
        if self._busy.is_set():
            os.killpg(0, signal.SIGKILL)
        self._requests.put(None)
        # The main thread returns now and exit handlers run; a thread left behind by a job may not hold them up.
        threading.Event().wait(LEAVING_SECONDS)
        os._exit(0)


def _die_with_the_worker() -> None:
    # _Line hears the worker's end too, but not while a job's C code keeps the interpreter lock.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _go_first_when_memory_ends() -> None:
    # The kernel should pick the child whose job is too big, not the worker with everyone else's jobs in it.
    with contextlib.suppress(OSError):
        setting = Path("/proc/self/oom_score_adj")
        preference = min(int(setting.read_text()) + OOM_PREFERENCE, LARGEST_OOM_PREFERENCE)
        setting.write_text(str(preference))


def _leave_stopping_to_the_worker(channel: socket.socket) -> None:
    """Stay through a SIGTERM sent to a whole service: the worker drains, and ends its children itself."""
    for number in STOPPING:
        # A handler and not SIG_IGN, which the programs a job starts would inherit.
        signal.signal(number, _stay)
    os.register_at_fork(
        # A signal sent to the new process before it is an ordinary one waits until it is.
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING),
        after_in_child=lambda: _become_ordinary(channel),
    )


def _become_ordinary(channel: socket.socket) -> None:
    # A process forked by a job (a multiprocessing pool's) must obey terminate(), and may not keep our socket open.
    channel.close()
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def _stay(_number: int, _frame: FrameType | None) -> None:
    pass
