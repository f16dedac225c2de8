"""An exception as text that may be stored: short, jsonb can hold it, and without the row data PostgreSQL adds.

Source lines are read the way Python's own tracebacks read them.
"""

import re
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Final

MESSAGE_BYTES: Final = 2_048
TRACEBACK_BYTES: Final = 8_192
MAX_CHAIN: Final = 20
MAX_FRAMES: Final = 100
CUT: Final = " … (cut)"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# "Failing row contains (…)" and bound parameters can hold payload data, over several lines.
_ROW_DATA = re.compile(
    r"^(?:DETAIL:|CONTEXT:\s+COPY|\[parameters:).*?"
    r"(?=^(?:HINT|CONTEXT|QUERY|STATEMENT|LOCATION|LINE \d+):|^\[SQL:|^\[parameters:|^\(Background on|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MACHINERY = re.compile(
    r"[/\\](?:asyncio|concurrent[/\\]futures|holdfast[/\\]runtime|holdfast[/\\]contrib[/\\]django)[/\\][^/\\]+$"
)
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"


def type_name(error: BaseException) -> str:
    """Return the full name of an exception's class, without `builtins`."""
    cls = type(error)
    name = cls.__qualname__.replace("<locals>.", "")
    return storable(name if cls.__module__ == "builtins" else f"{cls.__module__}.{name}")


def message_of(error: BaseException, limit: int = MESSAGE_BYTES) -> str:
    """Return what an exception says, fit to be stored."""
    try:
        said = str(error)
    except Exception as trouble:  # noqa: BLE001 - any code can stand in __str__
        said = f"<str() of this exception raised {type(trouble).__name__}>"
    return _head(storable(_ROW_DATA.sub("", said).strip()), limit)


def trimmed_traceback(error: BaseException, limit: int = TRACEBACK_BYTES) -> str:
    """Return the traceback with its causes, from the task's first frame on; if it is too long, its end."""
    text = storable("\n".join(_chain(error, set())))
    return _tail(text, limit)


def storable(text: str) -> str:
    """Replace the characters that jsonb cannot hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def _chain(error: BaseException, seen: set[int]) -> Iterator[str]:
    """Yield the blocks of an exception and of what led to it, oldest first."""
    seen.add(id(error))
    earlier, link = _earlier(error)
    if earlier is not None and id(earlier) not in seen and len(seen) < MAX_CHAIN:
        yield from _chain(earlier, seen)
        yield f"\n{link}\n"
    yield _block(error)
    if isinstance(error, BaseExceptionGroup):
        yield from _members(error, seen)


def _earlier(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, _CAUSE
    return (None if error.__suppress_context__ else error.__context__), _CONTEXT


def _members(group: BaseExceptionGroup[BaseException], seen: set[int]) -> Iterator[str]:
    for number, member in enumerate(group.exceptions, start=1):
        if id(member) in seen or len(seen) >= MAX_CHAIN:
            continue
        yield f"  --- {number} of {len(group.exceptions)} ---"
        for block in _chain(member, seen):
            yield "\n".join(f"  {line}" for line in block.splitlines())


def _block(error: BaseException) -> str:
    said = message_of(error)
    last = f"{type_name(error)}: {said}" if said else type_name(error)
    notes = [_ROW_DATA.sub("", note) for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    return "\n".join([*_stack(error.__traceback__), last, *notes])


def _stack(trace: TracebackType | None) -> list[str]:
    if trace is None:
        return []
    frames = traceback.StackSummary.extract(traceback.walk_tb(_from_task_on(trace)), limit=-MAX_FRAMES)
    return ["Traceback (most recent call last):", "".join(frames.format()).rstrip("\n")]


def _from_task_on(trace: TracebackType) -> TracebackType:
    """Skip the frames of the worker that called the task; keep all if there is nothing else."""
    start: TracebackType | None = trace
    while start is not None and _MACHINERY.search(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or trace


def _head(text: str, limit: int) -> str:
    whole = text.encode()
    if len(whole) <= limit:
        return text
    return whole[: limit - len(CUT.encode())].decode(errors="ignore") + CUT


def _tail(text: str, limit: int) -> str:
    whole = text.encode()
    if len(whole) <= limit:
        return text
    kept = whole[-(limit - 64) :].decode(errors="ignore")
    _, newline, lines = kept.partition("\n")
    kept = lines if newline else kept
    return f"… ({len(whole) - len(kept.encode()):,} bytes cut) …\n{kept}"
