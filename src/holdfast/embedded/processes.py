"""Tells whether a process is still the one we mean, though its number may have been used again."""

import subprocess
from pathlib import Path

PROC = Path("/proc")


def start_time(pid: int) -> str | None:
    """Return when a process began, as text to compare; None for one that is dead or a zombie."""
    if not _has_proc():
        state, _, began = _ps(pid, "stat=", "lstart=").partition(" ")
        return None if not state or state.startswith("Z") else began.strip()
    try:
        # The name in parentheses may hold spaces and parentheses of its own; what follows the last one is fixed.
        fields = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else fields[19]


def command_line(pid: int) -> str:
    """Return a process's arguments, each followed by a space; empty for one that is dead or a zombie."""
    if not _has_proc():
        return f"{_ps(pid, 'args=')} "
    try:
        return (PROC / str(pid) / "cmdline").read_text("utf-8", "replace").replace("\0", " ")
    except OSError:
        return ""


def _has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _ps(pid: int, *columns: str) -> str:
    options = [option for column in columns for option in ("-o", column)]
    command = ["/bin/ps", "-ww", *options, "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
