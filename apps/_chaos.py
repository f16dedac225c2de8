"""Chaos in a short and a long form: HOLDFAST_LONG=1 asks for the long one, HOLDFAST_CHAOS_SEED for another bad day."""

import os

LONG = os.environ.get("HOLDFAST_LONG") == "1"


def times(*, short: int, long: int) -> range:
    """Say how often: the numbers are seeds, so that a bad day can be had again."""
    first = int(os.environ.get("HOLDFAST_CHAOS_SEED", "0"))
    return range(first, first + (long if LONG else short))
