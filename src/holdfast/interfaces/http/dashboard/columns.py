"""The columns of the list of jobs: which there are, which are shown, and what stands in them."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.domain.search import DEEPEST_PATH
from holdfast.store.inspect import Given

TITLES = {
    "state": "State", "task": "Task", "id": "Id", "label": "Label", "tenant": "Tenant", "queue": "Queue", "attempt": "Attempt",
    "now": "What happens", "age": "Created", "duration": "Took",
    "subject": "Subject", "key": "Key", "tags": "Tags", "priority": "Priority", "worker": "Worker", "requested_by": "Asked by", "args": "Arguments",
}  # fmt: skip
USUAL = ("state", "task", "id", "label", "tenant", "queue", "attempt", "now", "age", "duration")
NUMBERS = {"attempt", "duration", "priority"}
MOST_FIELDS = 5
LARGEST = 65_536
_LONGEST = 80
_FIELD = re.compile(r"(payload|meta)((?:\.[^\s.,:\"]+)+)")


class Column(NamedTuple):
    """One column: a fact about a job, or a member of what it was given."""

    name: str
    title: str
    path: tuple[str, ...] = ()

    @property
    def is_field(self) -> bool:
        """Whether it shows a member of the payload or the metadata."""
        return bool(self.path)

    @property
    def is_number(self) -> bool:
        """Whether it stands to the right."""
        return self.name in NUMBERS

    def of(self, given: Given | None) -> str | None:
        """Write the member that it shows."""
        value: Any = None if given is None else given.payload if self.path[0] == "payload" else given.metadata
        for part in self.path[1:]:
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            return None
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def read_columns(text: str, usual: Sequence[str] = USUAL) -> list[Column]:
    """Understand which columns are wanted; the task is always shown, and what is unknown is left out."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if not wanted:
        return [Column(name, TITLES[name]) for name in usual]
    found = [Column(name, title) for name, title in TITLES.items() if name in {*wanted, "task"}]
    fields = [column for name in dict.fromkeys(wanted) if (column := _field(name)) is not None]
    return found + fields[:MOST_FIELDS]


def _field(name: str) -> Column | None:
    found = _FIELD.fullmatch(name)
    if found is None or name.count(".") > DEEPEST_PATH:
        return None
    return Column(name, name.partition(".")[2], tuple(name.split(".")))
