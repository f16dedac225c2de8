"""Files of heads: written beside an audit, and there only when it is whole; read by a later one."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from holdfast.domain.errors import BadInput
from holdfast.domain.heads import Head, first_line, last_line, read_heads, written


class HeadsFile:
    """A file of heads in the making. It has its name once the audit has come to its end; evidence is never written over."""

    def __init__(self, path: Path, at: datetime) -> None:
        self.path = path
        self.heads = 0
        self._is_whole = False
        self._part = path.with_name(f".{path.name}.part")
        if path.exists():
            raise BadInput(
                f"{path} is there already, and what it has may be needed: keep the heads in a file of another name"
            )
        try:
            self._file = self._part.open("w", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"heads cannot be kept in {path}: {error.strerror}") from error
        self._write(first_line(at))

    def add(self, head: Head) -> None:
        """Write one down."""
        self._write(written(head))
        self.heads += 1

    def end(self) -> None:
        """Say that these were all."""
        self._write(last_line(self.heads))
        self._is_whole = True

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._is_whole:
            self._part.rename(self.path)
        else:
            self._part.unlink()


class KeptHeads:
    """The heads in a file that was kept. It is read through once before anything is compared: half a file would be half a pass."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heads = sum(1 for _ in self)

    def __iter__(self) -> Iterator[Head]:
        try:
            with self.path.open(encoding="utf-8", errors="replace") as lines:
                yield from read_heads(lines, str(self.path))
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read: {error.strerror}") from error
