"""The guards that a database has, and those that this release puts there: `guards.json`, which scripts/snapshot writes."""

import json
from functools import cache
from importlib.resources import files

from holdfast.store.call import Call, Row, statement

GUARDS_FILE = "guards.json"


def guards() -> Call[dict[str, str]]:
    """Read what guards the tables: what it is, with a digest of what it says."""
    return statement("audit_definitions", _by_name)


def _by_name(rows: list[Row]) -> dict[str, str]:
    return {f"{kind} {name}": digest for kind, name, digest in sorted(rows)}


@cache
def released_guards() -> dict[str, str]:
    """Give what this release's migrations put there."""
    written = files("holdfast.store").joinpath("sql", GUARDS_FILE).read_text("utf-8")
    found: dict[str, str] = json.loads(written)
    return found
