"""How many minutes each part of a whole run may take, and how many it took; scripts/test has them printed.

No run fails by it: others may use the machine too, and a slow part is seen as well where nothing is red.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

VARIABLE = "HOLDFAST_TEST_CHECKED_IN"  # how many seconds scripts/check took, before the tests


@dataclass(frozen=True)
class Part:
    """A part of a run: how many minutes it may take on two cores, and whose tests are of it."""

    name: str
    minutes: float
    folders: tuple[str, ...] = ()
    also: str | None = None  # in the names of test files that lie elsewhere


CHECKS = Part("checks", 1)
# The first that has a test has it.
PARTS = (
    Part("browser", 3, ("tests/dashboard/browser/",), also="_in_a_browser.py"),
    Part("SQL and guarantees", 4, ("tests/sql/", "tests/guarantees/", "tests/interleaving/")),
    Part("HTTP", 2, ("tests/service/", "tests/executors/", "tests/dashboard/")),
    Part("apps", 2, ("apps/",)),
    Part("chaos", 3, ("tests/chaos/",)),
)
REST = "everything else"  # from what the others leave
WHOLE = Part("together", 15)


def part_of(nodeid: str) -> str:
    """Name the part that a test is of."""
    file = nodeid.partition("::")[0]
    for part in PARTS:
        if file.startswith(part.folders) or (part.also is not None and file.endswith(part.also)):
            return part.name
    return REST


class Taken:
    """What the tests of a run took, by part."""

    def __init__(self) -> None:
        self._tests: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def add(self, nodeid: str, seconds: float) -> None:
        """Add a test's set-up, call or tear-down."""
        self._tests[part_of(nodeid)][nodeid] += seconds

    def told(self, checked_in: float, processes: int) -> Iterator[str]:
        """Say it: each part's share of the processes' time, and its longest test, which no second process makes shorter."""
        minutes = {CHECKS.name: checked_in / 60}
        longest = {CHECKS.name: 0.0}
        for name, tests in self._tests.items():
            minutes[name] = sum(tests.values()) / processes / 60
            longest[name] = max(tests.values()) / 60
        allowed = {part.name: part.minutes for part in (CHECKS, *PARTS, WHOLE)}
        for name in (*(part.name for part in (CHECKS, *PARTS)), REST):
            if name in minutes:
                yield _line(name, minutes[name], allowed, longest[name])
        yield _line(WHOLE.name, sum(minutes.values()), allowed, 0.0)


def _line(name: str, minutes: float, allowed: Mapping[str, float], longest: float) -> str:
    said = f"{name:<20}{minutes:5.1f}"
    if name in allowed:
        said += f" of {allowed[name]:g}{', TOO MANY' if minutes > allowed[name] else ''}"
    return f"{said}; longest test {longest:.1f}" if longest else said
