"""How often an attack is repeated: a few times in every run of the tests, as often as its claim needs in `scripts/attacks`."""

import os
from collections.abc import Sequence

LONG = os.environ.get("HOLDFAST_LONG") == "1"
# Of what a claim needs, in percent: for whoever has less time than it takes.
SHARE = int(os.environ.get("HOLDFAST_SHARE", "100"))
# An attack may take an hour; one that takes longer than this hangs.
LONGEST = 7200


def times(short: int, long: int) -> int:
    """Say how often."""
    return max(short, long * SHARE // 100) if LONG else short


def points(often: Sequence[str], *, step: int) -> list[str]:
    """Say where a worker is killed: everywhere, or with every run of the tests at every so manieth of these places and the last."""
    return [*often] if LONG else [*dict.fromkeys([*often[::step], often[-1]])]


def within(seconds: int) -> int:
    """Say how many seconds a test may take that takes longer than others."""
    return LONGEST if LONG else seconds
