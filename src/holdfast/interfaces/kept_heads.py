"""Files of heads: written beside an audit, and there only when it is whole; read by a later one."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from holdfast.domain.audit import AuditUnfinished
from holdfast.domain.errors import BadInput
from holdfast.domain.heads import Head, first_line, last_line, read_heads, written

_LONGEST = (
    1000  # characters of a line that is read at once: a file of one line without end must not fill the memory
)


class HeadsFile:
    """A file of heads in the making. It has its name once the audit has come to its end; evidence is never written over."""

    def __init__(self, path: Path, at: datetime) -> None:
        self.path = path
        self.heads = 0
        # A name of its own: neither what a killed audit left behind nor a link that somebody put there is written to.
        self._part = path.parent / f".{path.name}.{uuid4().hex[:12]}.part"
        try:
            self._refuse_to_replace()
            self._file = self._part.open("x", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"heads cannot be kept in {path}: {error.strerror}") from error
        self._write(first_line(at))  # stays in memory: no disk can refuse it yet

    def add(self, head: Head) -> None:
        """Write one down."""
        self._write(written(head))
        self.heads += 1

    def end(self) -> None:
        """Say that these were all, and give the file its name once the disk has it."""
        self._write(last_line(self.heads))
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._refuse_to_replace()
            self._part.rename(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise self._not_kept(error) from error

    def _write(self, line: str) -> None:
        try:
            self._file.write(f"{line}\n")
        except OSError as error:
            raise self._not_kept(error) from error

    def _not_kept(self, error: OSError) -> AuditUnfinished:
        return AuditUnfinished("heads", f"they cannot be kept in {self.path}: {error.strerror}")

    def _refuse_to_replace(self) -> None:
        if self.path.is_symlink() or self.path.exists():
            raise BadInput(
                f"{self.path} is there already, and what it has may be needed: keep the heads in a file of another name"
            )

    def _give_up(self) -> None:
        with suppress(OSError):  # what the disk did not take is not needed any more
            self._file.close()
        self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_up()


def _sync_folder(folder: Path) -> None:
    """See to it that a name outlives a power cut, where a folder can be synced at all."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class KeptHeads:
    """The heads in a file that was kept. It is read through once before anything is compared: half a file would be half a pass."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise BadInput(f"there is no file {path} to compare with: holdfast audit --keep writes one")
        if not path.is_file():
            raise BadInput(
                f"{path} is no file: what comes through a pipe cannot be read twice, write it to a file first"
            )
        self.heads = sum(1 for _ in self)

    def __iter__(self) -> Iterator[Head]:
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                yield from read_heads(iter(lambda: file.readline(_LONGEST), ""), str(self.path))
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read: {error.strerror}") from error
