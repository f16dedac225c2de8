"""Tables as text that spreadsheets read."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(head: Sequence[str], rows: Iterable[Sequence[Any]], line_end: str = "\r\n") -> str:
    """Write a table; a text that a spreadsheet would calculate stays a text."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator=line_end)
    writer.writerow(head)
    writer.writerows([_plain(value) for value in row] for row in rows)
    return written.getvalue()


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
