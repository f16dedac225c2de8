"""What of a payload nobody but its task reads: named by paths, hidden wherever jobs are shown.

It hides from readers of the API, the command line, events and logs; the rows themselves keep everything (see encryption for that).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, quote_plus

from holdfast.domain.encryption import MEMBER
from holdfast.domain.error_text import CUT
from holdfast.domain.errors import Configuration

HIDDEN: Final = "[redacted]"
# Shorter values stand in too many texts by chance: a text without its "12" says nothing any more.
SHORTEST_WORD: Final = 4
# A line of a longer secret, as of a key in PEM, is told apart from what stands in other texts too.
_SHORTEST_LINE: Final = 12


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of one job others do not read: the places where it stands, and the words that it is made of."""

    paths: Sequence[str] = ()
    words: Sequence[str] = ()

    @classmethod
    def of(cls, payload: Any, paths: Sequence[str] | None) -> "Hidden":
        """Read from a payload what is hidden; what an encrypted one says is known to its task alone."""
        if not paths:
            return NOTHING
        is_sealed = isinstance(payload, dict) and isinstance(payload.get(MEMBER), dict)
        return cls(paths, () if is_sealed else hidden_words(payload, paths))

    def __bool__(self) -> bool:
        return bool(self.paths)

    def value(self, value: Any) -> Any:
        """Give a copy of what a task made: hidden by its place, and wherever else it stands."""
        return scrubbed(redacted(value, self.paths), self.words)

    def text(self, value: Any) -> Any:
        """Give a copy of what was said about the job, whose places have names of ours."""
        return scrubbed(value, self.words)


NOTHING: Final = Hidden()


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


def is_hidden(at: Sequence[str | int], paths: Iterable[str]) -> bool:
    """Whether something at this place is hidden, or something in or around it; where that is not clear, it is."""
    names = [part for part in at if isinstance(part, str)]
    return any(
        all(name in {"*", place} for name, place in zip(path.split("."), names, strict=False))
        for path in paths
    )


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
    found = {spelt for path in paths for word in _words(value, path.split(".")) for spelt in _spellings(word)}
    return sorted((word for word in found if len(word) >= SHORTEST_WORD), key=len, reverse=True)


def _spellings(word: str) -> Iterator[str]:
    """Give a word as it stands in texts: plain, in Python's and JSON's quotes, in an address, and line by line."""
    yield word
    if word.isalnum():  # written the same everywhere, but for letters that JSON and addresses spell out
        if not word.isascii():
            yield from (json.dumps(word)[1:-1], quote(word, safe=""))
        return
    yield from (
        repr(word)[1:-1],
        ascii(word)[1:-1],
        json.dumps(word)[1:-1],
        json.dumps(word, ensure_ascii=False)[1:-1],
    )
    yield from (quote(word, safe=""), quote(word), quote_plus(word))
    lines = word.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _SHORTEST_LINE)


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
    if not words:
        return value
    if isinstance(value, str):
        for word in words:
            # Where a text was cut, the beginning of a word may stand.
            value = CUT.join(_without_end(part, word) for part in value.replace(word, HIDDEN).split(CUT))
        return value
    if isinstance(value, dict):
        return {
            scrubbed(key, words) if isinstance(key, str) else key: scrubbed(one, words)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [scrubbed(one, words) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return HIDDEN if str(value) in words else value
    return value


def _without_end(text: str, word: str) -> str:
    for length in range(min(len(word) - 1, len(text)), SHORTEST_WORD - 1, -1):
        if text.endswith(word[:length]):
            return text[:-length] + HIDDEN
    return text
