"""Counts who uses a server, over processes: one line a user, and the dead do not count.

Call these only while holding the folder's lock.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from holdfast.embedded.processes import start_time


@dataclass(frozen=True, slots=True)
class User:
    """One holder of a server: a process, told from a later one with its number by when it began."""

    pid: int
    began: str
    token: str

    @property
    def is_alive(self) -> bool:
        """Whether the process that registered still runs."""
        return start_time(self.pid) == self.began


def register(file: Path) -> User:
    """Count this process as one more user."""
    began = start_time(os.getpid()) or ""
    user = User(os.getpid(), began, secrets.token_hex(8))
    _write(file, [*living(file), user])
    return user


def unregister(file: Path, user: User) -> bool:
    """Forget one user; True when nobody else is left."""
    left = [each for each in living(file) if each != user]
    _write(file, left)
    return not left


def living(file: Path) -> list[User]:
    """Return the users whose process still runs."""
    return [user for user in recorded(file) if user.is_alive]


def recorded(file: Path) -> list[User]:
    """Return all users on file, the dead ones too."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    fields = [line.split("\t") for line in lines]
    # A line torn by a power cut names nobody.
    return [User(int(pid), began, token) for pid, began, token in filter(_is_whole, fields)]


def _is_whole(fields: list[str]) -> bool:
    return len(fields) == len(User.__slots__) and fields[0].isdigit()


def _write(file: Path, users: list[User]) -> None:
    new = file.with_suffix(".new")
    new.write_text("".join(f"{user.pid}\t{user.began}\t{user.token}\n" for user in users), "utf-8")
    new.replace(file)
