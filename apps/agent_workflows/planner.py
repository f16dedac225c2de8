"""The planner: from the goal and what was seen so far to the next action. A model could stand here; a script is enough to show the rest.

It is asked again by every attempt, so it must say the same when it has seen the same: what it sees are saved steps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

DANGEROUS = frozenset({"delete"})


class Action(NamedTuple):
    """A tool, and what to do with it."""

    tool: str
    arguments: dict[str, Any]


def next_action(topic: str, tidy: bool, seen: Sequence[dict[str, Any]]) -> Action | None:
    """Search for a topic, read what was found, write a summary and, to tidy up, delete what was summarised; None when it is done."""
    if not seen:
        return Action("search", {"topic": topic})
    found = seen[0]["documents"]
    read = seen[1 : 1 + len(found)]
    if len(read) < len(found):
        return Action("read", {"document": found[len(read)]})
    match len(seen) - 1 - len(found):
        case 0 if found:
            text = "; ".join(answer["text"] for answer in read)
            return Action("write", {"document": f"summary of {topic}", "text": text})
        case 1 if tidy:
            return Action("delete", {"documents": found})
        case _:
            return None
