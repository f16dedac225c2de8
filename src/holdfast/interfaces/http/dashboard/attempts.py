"""The attempts of a job: who made each, from when until when, what came of it; and tracebacks that people can read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.domain.states import Status
from holdfast.interfaces.http.api.job_views import AttemptView, TransitionView

LEVELS = ("debug", "info", "warning", "error", "critical")
RUNNING = "running"
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]*)", line \d+')
_OF_OTHERS = re.compile(r"[/\\](?:site-packages|dist-packages|python3(?:\.\d+)?)[/\\]|^<frozen ")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that an attempt logged."""

    at: datetime | None
    level: str
    logger: str
    message: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt from its start to its end, if it has ended."""

    number: int
    worker: str
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error: Mapping[str, Any] | None
    cleaned: str
    full: str
    lines: Sequence[LogLine]

    @property
    def runs(self) -> bool:
        """Whether more lines may come."""
        return self.outcome == RUNNING

    @property
    def is_cut(self) -> bool:
        """Whether the whole traceback says more than the cleaned one."""
        return self.cleaned != self.full


def attempts_of(
    history: Sequence[TransitionView], left: Sequence[AttemptView], level: str = LEVELS[0]
) -> list[Attempt]:
    """Put attempts together from the moves that began and ended them, and from what they left behind; the newest first."""
    records = {record.attempt: record for record in left}
    begun = {move.attempt: move for move in history if move.to_status is Status.RUNNING}
    ended = {move.attempt: move for move in history if move.from_status is Status.RUNNING}
    numbers = sorted({*records, *begun}, reverse=True)
    return [_attempt(n, begun.get(n), ended.get(n), records.get(n), level) for n in numbers]


def _attempt(
    number: int,
    begun: TransitionView | None,
    ended: TransitionView | None,
    record: AttemptView | None,
    level: str,
) -> Attempt:
    error = record.error if record else None
    outcome = record.outcome if record else _outcome(ended)
    left_at = record.at if record and outcome != RUNNING else None
    full = str((error or {}).get("traceback") or "")
    return Attempt(
        number,
        record.worker if record else begun.actor if begun else "?",
        begun.at if begun else None,
        ended.at if ended else left_at,
        outcome,
        error,
        cleaned_traceback(full),
        full,
        [line for line in map(_line, (record.logs if record else None) or ()) if _weighs(line, level)],
    )


def as_lines(attempts: Sequence[Attempt]) -> str:
    """Write what attempts logged as a file has it, the oldest first; a message of several lines is indented after its first."""
    return "".join(
        f"{line.at.isoformat() if line.at else '-'} attempt={attempt.number} {line.level or '-'} {line.logger or '-'}: "
        + line.message.replace("\n", "\n    ")
        + "\n"
        for attempt in reversed(attempts)
        for line in attempt.lines
    )


def _outcome(ended: TransitionView | None) -> str:
    return RUNNING if ended is None else ended.to_status.lower().replace("_", " ")


def _line(told: Mapping[str, Any]) -> LogLine:
    try:
        at = datetime.fromisoformat(str(told.get("at")))
    except ValueError:
        at = None
    return LogLine(
        at,
        str(told.get("level") or "").lower(),
        str(told.get("logger") or ""),
        str(told.get("message") or ""),
    )


def _weighs(line: LogLine, level: str) -> bool:
    """Whether a line is as grave as asked for; of a level that is nobody's all are shown."""
    return line.level not in LEVELS or LEVELS.index(line.level) >= LEVELS.index(level)


def cleaned_traceback(text: str) -> str:
    """Leave out the frames of libraries and of Python itself; where nothing else would be left, nothing is."""
    kept: list[str] = []
    dropped = own = 0
    is_dropping = False
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            is_dropping = _OF_OTHERS.search(frame["path"]) is not None
            dropped += is_dropping
            own += not is_dropping
        elif not line.startswith("    "):  # no source of a frame: a title, an error, a note
            is_dropping = False
        if not is_dropping:
            kept += _gap(dropped)
            dropped = 0
            kept.append(line)
    return "\n".join(kept) if own else text


def _gap(dropped: int) -> list[str]:
    return [f"  … {dropped} frame{'' if dropped == 1 else 's'} of libraries"] if dropped else []
