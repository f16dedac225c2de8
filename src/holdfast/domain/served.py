r"""Queues to serve, as one line of text: billing:5,default:20; a name's own commas and colons stand behind a backslash."""

import re
from collections.abc import Mapping

_ESCAPED = r"\\[\\,:\s]"
# A backslash before anything else is itself: names that have one were always written so.
_PLAIN = rf"(?:{_ESCAPED}|[^,:\\]|\\(?![\\,:\s]))"
_ANY = rf"(?:{_PLAIN}|:)"
_ENTRY = re.compile(rf"\s*(?:(?P<whole>{_PLAIN}+?)|(?P<name>{_ANY}+?):(?P<slots>\d+))\s*")
_ENTRIES = re.compile(rf"(?:\A|,)({_ANY}*)")
_ESCAPE = re.compile(r"\\([\\,:\s])")
_TO_ESCAPE = re.compile(r"[\\,:]|\A\s|\s\Z")


class BadEntry(ValueError):
    """A part of the line is no queue; `entry` is how it was written."""

    def __init__(self, entry: str) -> None:
        super().__init__(entry)
        self.entry = entry


def read_served(line: str) -> dict[str, int | None]:
    """Read which queues are to be served, and with how many slots each; None: it was not said."""
    served: dict[str, int | None] = {}
    for entry in _ENTRIES.findall(line):
        found = _ENTRY.fullmatch(entry)
        slots = int(found["slots"]) if found and found["slots"] else None
        if found is None or slots == 0:
            raise BadEntry(entry)
        served[_ESCAPE.sub(r"\1", found["whole"] or found["name"])] = slots
    return served


def written_queue(name: str) -> str:
    """Write a queue's name so that it is read as this name."""
    return _TO_ESCAPE.sub(lambda found: f"\\{found[0]}", name)


def written_served(served: Mapping[str, object]) -> str:
    """Write queues with their slots."""
    return ",".join(f"{written_queue(name)}:{slots}" for name, slots in served.items())
