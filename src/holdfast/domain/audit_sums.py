"""What the history adds up to, against what usage and statistics say: every figure at least, or exactly where nothing was ever removed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TypeAlias, TypeVar

from holdfast.domain.audit import Finding

Key = TypeVar("Key")
Amounts: TypeAlias = tuple[int | Decimal, ...]
_MEASURES = (
    "enqueued",
    "runs",
    "completed",
    "failed",
    "cancelled",
    "retried",
    "attempts",
    "run_seconds",
)
_BY_MINUTE = 6  # the first so many are in the minutes too


class Sums:
    """Amounts by day, tenant and task, added up slice by slice."""

    def __init__(self) -> None:
        self.of: dict[tuple[date, str | None, str], Amounts] = {}

    def add(self, rows: Sequence[tuple[date, str | None, str, Amounts]]) -> None:
        """Add what a slice of jobs did."""
        for day, tenant, task, amounts in rows:
            before = self.of.get((day, tenant, task), (0,) * len(amounts))
            self.of[day, tenant, task] = tuple(a + b for a, b in zip(before, amounts, strict=True))

    def against_usage(self, kept: "Sums", *, exact: bool) -> Iterator[Finding]:
        """Compare with usage."""
        for (day, tenant, task), measure, here, there in _differing(self.of, kept.of, exact):
            told = f"task {task} of tenant {tenant or 'nobody'} on {day}: {here} {measure} are in the history, {there} in usage"
            yield Finding("G05", None, told)

    def against_minutes(
        self, minutes: Mapping[tuple[date, str], Amounts], since: date, *, exact: bool
    ) -> Iterator[Finding]:
        """Compare with the statistics of the days of which all minutes are kept."""
        by_task: defaultdict[tuple[date, str], Amounts] = defaultdict(lambda: (0,) * _BY_MINUTE)
        for (day, _, task), amounts in self.of.items():
            if day >= since:
                so_far = by_task[day, task]
                by_task[day, task] = tuple(a + b for a, b in zip(so_far, amounts[:_BY_MINUTE], strict=True))
        recent = {key: amounts for key, amounts in minutes.items() if key[0] >= since}
        for (day, task), measure, here, there in _differing(by_task, recent, exact):
            told = f"task {task} on {day}: {here} {measure} are in the history, {there} in the statistics"
            yield Finding("G06", None, told)


def _differing(
    reckoned: Mapping[Key, Amounts], kept: Mapping[Key, Amounts], exact: bool
) -> Iterator[tuple[Key, str, int | Decimal, int | Decimal]]:
    nothing = (0,) * len(_MEASURES)
    for key in {**reckoned, **(kept if exact else {})}:
        for measure, here, there in zip(
            _MEASURES, reckoned.get(key, nothing), kept.get(key, nothing), strict=False
        ):
            if here > there or (exact and here != there):
                yield key, measure, here, there
