"""Every plan that the planner's switches can bring about."""

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg

SWITCHES = [
    "enable_nestloop",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_hashagg",
    "enable_indexscan",
    "enable_material",
    "enable_sort",
]


def each_plan(connection: psycopg.Connection[Any], *further: str) -> Iterator[None]:
    """Set the switches in every way, one after another; what is done in between is rolled back each time."""
    switches = [*SWITCHES, *further]
    for settings in itertools.product(["on", "off"], repeat=len(switches)):
        with connection.transaction(force_rollback=True):
            # A plan kept from an earlier round would answer for all of them.
            connection.execute("discard plans")
            for switch, setting in zip(switches, settings, strict=True):
                connection.execute(f"set local {switch} = {setting}")
            yield
