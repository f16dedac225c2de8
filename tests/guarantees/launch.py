"""Where worker processes of the guarantee tests come from: a parent that has imported everything and forks on request.

Every worker is a process of its own, with its own session, environment and log; only the half second of imports is shared.
"""

import json
import logging
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from holdfast.runtime import failpoints, projector
from holdfast.runtime.logs import JsonFormatter


def main(name: str = "guarantees.shop") -> None:
    """Answer each request on stdin with a process id, and tell of each end: one JSON object a line."""
    module = import_module(name)
    workers: set[int] = set()
    requests = b""
    ends = _told_of_ends()
    while True:
        readable, _, _ = select.select([0, ends], [], [])
        if ends in readable:
            os.read(ends, 4096)
        if 0 in readable:
            some = os.read(0, 65536)
            if not some:
                _end(workers)
                return
            requests += some
            while b"\n" in requests:
                line, requests = requests.split(b"\n", 1)
                pid = _fork(module, json.loads(line))
                workers.add(pid)
                _tell(started=pid)
        workers -= set(_tell_ends())


def _told_of_ends() -> int:
    """Give what can be read whenever a child has ended: nobody has to look again and again."""
    ends, ended = os.pipe()
    for end in (ends, ended):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ended, warn_on_full_buffer=False)
    return ends


def _fork(module: ModuleType, request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _become_worker(module, request)
    return pid


def _tell_ends() -> Iterator[int]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell(ended=pid, code=os.waitstatus_to_exitcode(status))
        yield pid


def _end(workers: set[int]) -> None:
    """Leave nobody behind when whoever asked for them was killed: their own sessions keep them alive."""
    for pid in workers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _tell(**facts: int) -> None:
    os.write(1, json.dumps(facts).encode() + b"\n")


def _become_worker(module: ModuleType, request: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ.update(request["environment"])
        code = work(module, request["options"])
        _join_threads()
    except BaseException:  # noqa: BLE001 - a fork must never return to its parent's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _join_threads() -> None:
    """Wait as an interpreter's end does: a thread that holds up the exit of a real worker holds up this one too."""
    import threading

    threading._shutdown()  # type: ignore[attr-defined]


def work(module: ModuleType, options: dict[str, Any]) -> int:
    """Run a worker of that module's app as a program would that logs JSON to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    failpoints.arm_from_environment()
    if hasattr(module, "declare_alerts"):
        module.declare_alerts()
    projector.SLICE = int(os.environ.get("GUARANTEES_SLICE", projector.SLICE))
    code: int = module.app.work(
        on_ready=lambda _identity: logging.getLogger("holdfast").info("ready"), **options
    )
    return code


if __name__ == "__main__":
    main(*sys.argv[1:])
