"""What of a payload nobody but its task reads: named by paths, hidden wherever jobs are shown.

It hides from readers of the API, the command line, events and logs; the rows themselves keep everything (see encryption for that).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from holdfast.domain.error_text import CUT
from holdfast.domain.errors import Configuration

HIDDEN: Final = "[redacted]"
# Shorter values stand in too many texts by chance: a text without its "12" says nothing any more.
SHORTEST_WORD: Final = 4


def checked_paths(task: str, paths: Sequence[str]) -> list[str]:
    """Read `redact=`: names joined by dots, * for every member or element."""
    if isinstance(paths, str):
        raise Configuration(f"task {task!r}: redact= takes a list of paths, e.g. redact=[{paths!r}]")
    for path in paths:
        if not path or "" in path.split("."):
            raise Configuration(
                f"task {task!r} redacts {path!r}: a path is like card.number, or card.* for all of it"
            )
    return list(paths)


def first_names(paths: Iterable[str]) -> set[str]:
    """Name the payload's fields in which something is hidden."""
    return {path.partition(".")[0] for path in paths}


def redacted(value: Any, paths: Sequence[str] | None) -> Any:
    """Give a copy in which what the paths name is hidden."""
    for path in paths or ():
        value = _without(value, path.split("."))
    return value


def _without(value: Any, names: Sequence[str]) -> Any:
    if not names:
        return value if value is None else HIDDEN
    name, rest = names[0], names[1:]
    if isinstance(value, dict):
        return {key: _without(one, rest) if name in {"*", key} else one for key, one in value.items()}
    if isinstance(value, list):
        # A list may be passed by in silence: items.card means the card of each.
        return [_without(one, rest if name == "*" else names) for one in value]
    return value


def hidden_words(value: Any, paths: Sequence[str]) -> list[str]:
    """List what is hidden, as it would stand in a text; the longest first, because they may contain each other."""
    found = {word for path in paths for word in _words(value, path.split("."))}
    return sorted((word for word in found if len(word) >= SHORTEST_WORD), key=len, reverse=True)


def _words(value: Any, names: Sequence[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if not names or names[0] in {"*", key}:
                yield from _words(one, names[1:])
    elif isinstance(value, list):
        for one in value:
            yield from _words(one, names[1:] if names and names[0] == "*" else names)
    elif not names and isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def scrubbed(value: Any, words: Sequence[str]) -> Any:
    """Give a copy of a text, or of JSON with texts in it, in which none of these words stands."""
    if isinstance(value, str):
        for word in words:
            # Where a text was cut, the beginning of a word may stand.
            value = CUT.join(_without_end(part, word) for part in value.replace(word, HIDDEN).split(CUT))
        return value
    if isinstance(value, dict):
        return {key: scrubbed(one, words) for key, one in value.items()}
    if isinstance(value, list):
        return [scrubbed(one, words) for one in value]
    return value


def _without_end(text: str, word: str) -> str:
    for length in range(min(len(word) - 1, len(text)), SHORTEST_WORD - 1, -1):
        if text.endswith(word[:length]):
            return text[:-length] + HIDDEN
    return text
