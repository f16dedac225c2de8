"""What has changed lately, told by a few values that change with it."""

from collections.abc import Mapping
from typing import Any

from holdfast.store.call import Call, query, single


def read_pulse() -> Call[Mapping[str, Any]]:
    """Give a value for each name of the dashboard's live stream."""
    return query("pulse", single)
