"""How often an attack is repeated: a few times in every run of the tests, as often as its claim needs in `scripts/attacks`."""

import os

LONG = os.environ.get("HOLDFAST_LONG") == "1"


def times(short: int, long: int) -> int:
    """Say how often."""
    return long if LONG else short
