"""The schema as PostgreSQL itself writes it down: `schema.sql`, for people who review a change to it, and `guards.json` for the auditor."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from holdfast.embedded import Binaries, find_binaries
from holdfast.store.audit import look
from holdfast.store.connection import Database, Session
from holdfast.store.guards import GUARDS_FILE, guards
from holdfast.testing.servers import test_server

MAJOR = 18
SCHEMA_FILE = Path(str(files("holdfast.store").joinpath("sql", "schema.sql")))

_MONTHS = "holdfast.job_history_[0-9][0-9][0-9][0-9][0-9][0-9]"
# The release that wrote it, a random token against injection, and settings that are the same in every dump.
_VOLATILE = re.compile(
    r"^(-- Dumped (from|by) .*|\\(un)?restrict .*|SET .*|SELECT pg_catalog\.set_config.*)\n", re.MULTILINE
)


def dump(url: str, binaries: Binaries) -> str:
    """Write the schema of one database down, without what differs from month to month and from server to server."""
    command = [
        binaries.path("pg_dump"), "--schema-only", "--no-owner", "--schema=holdfast", f"--exclude-table={_MONTHS}", f"--dbname={url}",
    ]  # fmt: skip
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(r"\n{3,}", "\n\n", _VOLATILE.sub("", written)).strip() + "\n"


def guards_of(url: str) -> str:
    """Write down what guards the tables of one database, in the words that all servers use."""
    session = Session(Database(url, "snapshot"), "holdfast snapshot")
    try:
        (found,) = look(session, "the guards", [guards()])
    finally:
        session.close()
    return json.dumps(found, indent=0) + "\n"


def main() -> None:
    """Write schema.sql and guards.json anew, from a server that lives only for it."""
    binaries = find_binaries(MAJOR)
    with test_server(binaries) as server, server.database() as database:
        SCHEMA_FILE.write_text(dump(database.owner_url, binaries), "utf-8")
        SCHEMA_FILE.with_name(GUARDS_FILE).write_text(guards_of(database.owner_url), "utf-8")
    sys.stderr.write(f"snapshot: wrote {SCHEMA_FILE.name} and {GUARDS_FILE}\n")


if __name__ == "__main__":
    main()
