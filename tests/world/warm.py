"""Processes that are forked from one which has imported much: they are processes of their own, and save a second of imports each."""

import multiprocessing
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

_WARM = multiprocessing.get_context("forkserver")
_WARM.set_forkserver_preload(["pytest", "hypothesis", "psycopg", "holdfast.server", "holdfast.testing"])


def run_warm(
    output: Path,
    environment: Mapping[str, str],
    does: Callable[..., Any],
    *given: Any,
    within: float | None = None,
) -> tuple[int | None, str]:
    """Call a function of a module in such a process; gives its exit code, None when it took too long, and what it said."""
    ran = _WARM.Process(target=_begin, args=(str(output), dict(environment), does, given))
    ran.start()
    ran.join(within)
    code = ran.exitcode
    if code is None:
        ran.kill()
        ran.join()
    ran.close()
    return code, output.read_text("utf-8", errors="replace") if output.exists() else ""


def _begin(
    output: str, environment: dict[str, str], does: Callable[..., Any], given: tuple[Any, ...]
) -> NoReturn:
    said = os.open(output, os.O_CREAT | os.O_WRONLY)
    os.dup2(said, 1)
    os.dup2(said, 2)
    # That of its parent is as old as the parent.
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(does(*given))


def run_file(file: str) -> None:
    """Run a file as `python file` does."""
    sys.argv = [file]
    sys.path.insert(0, str(Path(file).parent))
    runpy.run_path(file, run_name="__main__")
