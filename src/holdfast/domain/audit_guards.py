"""Whether the guards are in place, and the server in a state in which they can do their work."""

from collections.abc import Iterator, Mapping

from holdfast.domain.audit import Finding
from holdfast.domain.health import LONG_TRANSACTION, MANY_DEAD_ROWS, Storage
from holdfast.domain.sentence import span

_CODES = {
    "function": "H08",
    "view": "H08",
    "trigger": "H01",
    "rule": "H01",
    "unique index": "H09",
    "index": "H09",
    "constraint": "H09",
    "row security": "H05",
    "policy": "H05",
    "rights on": "H06",
}
_OTHERS_MAY_ADD = ("index", "unique index", "constraint")
_OF_ROLES = ("row security", "policy", "rights on")
_FULL = 0.5  # of the server's room for notifications


def judge_guards(released: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Finding]:
    """Compare what is there with what the release puts there, word for word."""
    apart = keeps_apart(found)
    for name in sorted({**released, **found}):
        kind = _kind(name)
        if (kind in _OF_ROLES and not apart) or (kind in _OTHERS_MAY_ADD and name not in released):
            continue
        if found.get(name) != released.get(name):
            told = _rights if kind == "rights on" else _guard
            yield Finding(_CODES[kind], None, f"{name} {told(released.get(name), found.get(name))}")


def keeps_apart(found: Mapping[str, str]) -> bool:
    """Whether there are roles with rights of their own; one role for everything has no rows to hide, and nobody to give a right to."""
    return any(_kind(name) == "row security" for name in found)


def _guard(released: str | None, found: str | None) -> str:
    if found is None:
        return "is missing"
    if released is None:
        return "is not of this release"
    return "is not as this release made it, or is switched off or not valid"


def _rights(released: str | None, found: str | None) -> str:
    return f"are: {found or 'none'}; this release gives: {released or 'none'}"


def _kind(name: str) -> str:
    return next(kind for kind in _CODES if name.startswith(f"{kind} "))


def judge_schema(problem: str | None) -> Iterator[Finding]:
    """Say when database and release are of different ages: then nothing else can be compared."""
    if problem is not None:
        yield Finding("H10", None, problem)


def judge_server(storage: Storage, notifications: float) -> Iterator[Finding]:
    """Say what keeps the server from cleaning up after jobs and from waking workers; doctor's own limits."""
    oldest = storage.oldest_transaction
    if oldest is not None and oldest > LONG_TRANSACTION:
        yield Finding("I06", None, f"a transaction has been open for {span(oldest)}: {storage.whose}")
    if storage.dead_rows > MANY_DEAD_ROWS and storage.dead_rows > storage.live_rows / 5:
        yield Finding(
            "I06",
            None,
            f"{storage.dead_rows:,} dead rows are beside {storage.live_rows:,} live ones in holdfast.job",
        )
    if notifications > _FULL:
        yield Finding("I06", None, f"the server's notification queue is {notifications:.0%} full")
