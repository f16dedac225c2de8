"""An app as small as the process executor allows, and jobs that do to their process what jobs must not."""

import asyncio
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Request = dict[str, Any]
Tell = Callable[[dict[str, Any]], None]


class SampleApp:
    """Calls the function the request names."""

    def run_in_child(self, request: Request, tell: Tell) -> Any:
        return TASKS[request["task"]]({**request, "tell": tell})


def echo(request: Request) -> Any:
    return {"outcome": request["value"], "pid": os.getpid()}


async def add_later(request: Request) -> int:
    await asyncio.sleep(0)
    return sum(request["numbers"])


def add(request: Request) -> Any:
    return {"outcome": asyncio.run(add_later(request))}


def tell(request: Request) -> Any:
    """Tell lines; then, from a thread that is left behind, one more when the job is over and another has begun."""
    for word in request["words"]:
        request["tell"]({"message": word})
    left_behind.append(request["tell"])
    return {"outcome": "told"}


left_behind: list[Tell] = []


def tell_for_the_last(_request: Request) -> Any:
    left_behind.pop()({"message": "too late"})
    return {"outcome": "told"}


def tell_in_a_fork(request: Request) -> Any:
    pid = os.fork()
    if pid == 0:
        request["tell"]({"message": "not mine to tell"})
        os._exit(0)
    return {"outcome": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}


def tell_and_die(request: Request) -> Any:
    request["tell"]({"message": "last words"})
    os.kill(os.getpid(), signal.SIGKILL)


def tell_under_signals(request: Request) -> Any:
    """Tell lines while a signal's handler does, too, in the middle of them."""
    signal.signal(signal.SIGALRM, lambda *_: request["tell"]({"message": "alarm"}))
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    for word in request["words"]:
        request["tell"]({"message": word})
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"outcome": "told"}


def tell_nonsense(request: Request) -> Any:
    request["tell"](request["line"])
    return {"outcome": "told"}


def hold(request: Request) -> Any:
    """Say that it has begun, then wait until it is told to go on."""
    announce(request)
    Path(request["go"]).read_text()
    return {"outcome": "held", "pid": os.getpid()}


def announce(request: Request) -> None:
    Path(request["begun"]).write_text(str(os.getpid()))


def hold_without_the_kernels_help(request: Request) -> Any:
    ctypes.CDLL(None).prctl(1, 0)
    return hold(request)


def hold_the_interpreter_lock(request: Request) -> None:
    announce(request)
    ctypes.PyDLL(None).pause()


def leave(request: Request) -> None:
    os._exit(request["code"])


def kill_itself(_request: Request) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def read_address_zero(_request: Request) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


def write_to_standard_output(_request: Request) -> Any:
    sys.stdout.write("a line of the job's own\n" * 1_000)
    os.write(1, b"\x00\x00\x00\x05bytes")
    return {"outcome": "written"}


def worker_socket() -> socket.socket:
    for entry in Path("/proc/self/fd").iterdir():
        if int(entry.name) > 2 and entry.is_socket():
            return socket.socket(fileno=int(entry.name))
    raise LookupError("no socket to the worker")


def write_garbage(request: Request) -> None:
    worker_socket().sendall(request["garbage"].encode("latin-1"))
    threading.Event().wait()


def die_in_the_middle_of_a_message(_request: Request) -> None:
    worker_socket().sendall(b'\x00\x00\x10\x00{"answer": ')
    os._exit(0)


def close_all_descriptors(_request: Request) -> Any:
    os.closerange(3, 1024)
    return {"outcome": "nobody hears it"}


def hang_up(_request: Request) -> None:
    worker_socket().shutdown(socket.SHUT_RDWR)
    threading.Event().wait()


def answer_a_set(_request: Request) -> Any:
    return {"outcome": {1, 2}}


def answer_too_much(request: Request) -> Any:
    return {"outcome": "x" * request["length"]}


def call_exit(_request: Request) -> None:
    sys.exit("enough")


def count_siblings(_request: Request) -> Any:
    """Count the living children of this child's parent."""
    return {"outcome": sum(is_sibling(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())}


def is_sibling(entry: Path) -> bool:
    try:
        state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        ours = b"holdfast.runtime.child" in (entry / "cmdline").read_bytes()
    except OSError:
        return False
    return ours and int(parent) == os.getppid() and state != "Z"


def start_a_program_and_hold(request: Request) -> None:
    program = subprocess.Popen(["sleep", "1000"])
    Path(request["begun"]).write_text(str(program.pid))
    threading.Event().wait()


def leave_a_daemon_behind_and_die(request: Request) -> None:
    """Die while a process outside the child's group holds the child's socket open."""
    descriptor = worker_socket().detach()
    daemon = subprocess.Popen(["sleep", "1000"], pass_fds=[descriptor], start_new_session=True)
    Path(request["daemon"]).write_text(str(daemon.pid))
    os._exit(4)


def leave_a_thread_behind(_request: Request) -> Any:
    threading.Thread(target=threading.Event().wait).start()
    return {"outcome": "left", "pid": os.getpid()}


def terminate_itself(_request: Request) -> Any:
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    return {"outcome": "stayed"}


def terminate_a_fork(_request: Request) -> Any:
    forked = os.fork()
    if forked == 0:
        signal.pause()
    os.kill(forked, signal.SIGTERM)
    return {"outcome": os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])}


def look_around(_request: Request) -> Any:
    from holdfast.runtime.child import inside_child

    return {"inside": inside_child(), "session": os.getsid(0), "pid": os.getpid(), "argv": sys.argv}


TASKS: dict[str, Callable[[Request], Any]] = {
    function.__name__: function
    for function in (
        add,
        answer_a_set,
        answer_too_much,
        call_exit,
        close_all_descriptors,
        count_siblings,
        die_in_the_middle_of_a_message,
        echo,
        hang_up,
        hold,
        hold_the_interpreter_lock,
        hold_without_the_kernels_help,
        kill_itself,
        leave,
        leave_a_daemon_behind_and_die,
        leave_a_thread_behind,
        look_around,
        read_address_zero,
        start_a_program_and_hold,
        tell,
        tell_and_die,
        tell_for_the_last,
        tell_in_a_fork,
        tell_nonsense,
        tell_under_signals,
        terminate_a_fork,
        terminate_itself,
        write_garbage,
        write_to_standard_output,
    )
}

app = SampleApp()
not_an_app = 42
