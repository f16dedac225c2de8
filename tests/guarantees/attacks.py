"""The attacks of docs/operations/attacks.md, as often as that page says: `scripts/attacks [row …]`."""

import os
import re
import subprocess
import sys
from typing import NamedTuple

from world.named import ROOT, named_tests
from world.often import LONGEST

PAGE = ROOT / "docs" / "operations" / "attacks.md"
_ROW = re.compile(r"^\| ([A-Z]\d+) \|(.+)\|$", re.MULTILINE)


class Attack(NamedTuple):
    """A row of the page."""

    row: str
    tests: list[str]


def attacks() -> list[Attack]:
    """Read the page."""
    return [Attack(row, named_tests(told)) for row, told in _ROW.findall(PAGE.read_text("utf-8"))]


def main() -> int:
    """Run the tests of these rows, or of all."""
    wanted = sys.argv[1:]
    chosen = [attack for attack in attacks() if not wanted or attack.row in wanted]
    if unknown := set(wanted) - {attack.row for attack in chosen}:
        print(f"attacks: there is no row {', '.join(sorted(unknown))}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    tests = list(dict.fromkeys(test for attack in chosen for test in attack.tests))
    command = [sys.executable, "-m", "pytest", "--timeout", str(LONGEST), "--durations", "0", *tests]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "HOLDFAST_LONG": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
