"""Whether the guards are in place, and the server in a state in which they can do their work."""

from collections.abc import Iterator, Mapping

from holdfast.domain.audit import Finding
from holdfast.domain.health import LONG_TRANSACTION, MANY_DEAD_ROWS, Storage
from holdfast.domain.sentence import span

_CODES = {
    "function": "H08",
    "trigger": "H01",
    "unique index": "H09",
    "index": "H09",
    "constraint": "H09",
    "row security": "H05",
}
_OTHERS_MAY_ADD = ("index", "unique index", "constraint")
_FULL = 0.5  # of the server's room for notifications


def judge_guards(released: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Finding]:
    """Compare what is there with what the release puts there, word for word."""
    apart = any(
        _kind(name) == "row security" for name in found
    )  # one role for everything has no rows to hide
    for name in sorted({**released, **found}):
        kind = _kind(name)
        if kind == "row security" and not apart:
            continue
        if name not in found:
            yield Finding(_CODES[kind], None, f"{name} is missing")
        elif name not in released and kind not in _OTHERS_MAY_ADD:
            yield Finding(_CODES[kind], None, f"{name} is not of this release")
        elif name in released and found[name] != released[name]:
            yield Finding(
                _CODES[kind], None, f"{name} is not as this release made it, or is switched off or not valid"
            )


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
