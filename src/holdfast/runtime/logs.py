"""Log lines: ours as structured events, and the task's own captured with its attempt."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from holdfast.domain.error_text import storable
from holdfast.runtime.context import JobContext, current
from holdfast.runtime.job_context import hidden_here

events = logging.getLogger("holdfast")

MOST_LINES = 200
LONGEST_LINE = 2000

_worker: ContextVar[Callable[[], str] | None] = ContextVar("holdfast_worker", default=None)


@contextmanager
def logged_as(name: Callable[[], str]) -> Iterator[None]:
    """Let the lines of a worker say which one it is, whichever of its parts writes them."""
    before = _worker.set(name)
    try:
        yield
    finally:
        _worker.reset(before)


def _name_worker(record: logging.LogRecord) -> bool:
    name = _worker.get()
    if name is not None and not hasattr(record, "worker"):
        record.worker = name()
    return True


events.addFilter(_name_worker)


class CaptureHandler(logging.Handler):
    """Keeps what a task logs during an attempt; what is logged outside of one passes by."""

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line to the running attempt's, until it has enough."""
        context = current.get()
        if context is None or record.name.startswith("holdfast"):
            return
        if context.log_lines is None:
            context.log_lines = []
        kept = context.log_lines
        if len(kept) < MOST_LINES:
            kept.append(_line(record, context))
        elif len(kept) == MOST_LINES:
            kept.append({"message": f"… more than {MOST_LINES} lines; the rest was not kept"})


def _line(record: logging.LogRecord, context: JobContext) -> dict[str, Any]:
    return {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
        "level": record.levelname,
        "logger": record.name,
        # Cut last: half of what is hidden would be left.
        "message": storable(context.hidden.text(_message(record)))[:LONGEST_LINE],
    }


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError) as error:
        return f"{record.msg!r} (its arguments do not fit: {error})"


def as_json(kept: list[dict[str, Any]] | None) -> str | None:
    """Write captured lines for the database; None when there are none."""
    return json.dumps(kept) if kept else None


def capture() -> CaptureHandler:
    """Start capturing for this process; the same handler every time."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, CaptureHandler):
            return handler
    handler = CaptureHandler()
    root.addHandler(handler)
    return handler


class JsonFormatter(logging.Formatter):
    """One JSON object a line, with the running job's id and attempt bound."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record with everything given as `extra`."""
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "event": _message(record),
            **_bound(),
            **{k: v for k, v in record.__dict__.items() if k not in _STANDARD},
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(_scrubbed(told), default=lambda value: _scrubbed(str(value)))


class TextFormatter(logging.Formatter):
    """One line for a person: time, level, event, and its facts as key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record; nothing in a value can forge another line, or speak to the terminal."""
        facts = {**_bound(), **{k: v for k, v in record.__dict__.items() if k not in _STANDARD}}
        told = " ".join(f"{key}={_plain(_scrubbed(str(value)))}" for key, value in facts.items())
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        line = f"{at} {record.levelname.lower():7} {_one_line(_scrubbed(_message(record)))} {told}".rstrip()
        if record.exc_info:
            # Under its line and set in: what an error says cannot pass for an event.
            told_by = str(_scrubbed(self.formatException(record.exc_info))).splitlines()
            line += "".join(f"\n  {_visible(each)}" for each in told_by)
        return line


_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def _bound() -> dict[str, Any]:
    context = current.get()
    return {} if context is None else {"job_id": str(context.job_id), "attempt": context.attempt}


def _scrubbed(told: Any) -> Any:
    return hidden_here().text(told)


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else _quoted(text)


def _one_line(text: str) -> str:
    return text if text.isprintable() else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_visible(escaped)}"'


def _visible(text: str) -> str:
    """Write what cannot be seen, or moves what can, as an escape."""
    return (
        text
        if text.isprintable()
        else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    )
