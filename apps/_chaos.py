"""Chaos in a short and a long form: HOLDFAST_LONG=1 asks for the long one."""

import os


def times(*, short: int, long: int) -> range:
    """Say how often: the numbers are seeds, so that a bad day can be had again."""
    return range(long if os.environ.get("HOLDFAST_LONG") == "1" else short)
