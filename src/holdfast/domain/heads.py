"""Heads of the chains over histories, as they are kept outside the database: a line of JSON each, for a later audit to compare with."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.errors import BadInput

_KIND = "heads of chains"
_FORMAT = 1
_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEQS = range(1, 2**31)
_DIGEST = re.compile("[0-9a-f]{64}")


class Head(NamedTuple):
    """What a job's history comes to up to a row of it."""

    job_id: UUID
    seq: int
    digest: str


def first_line(at: datetime) -> str:
    """Say what the lines below are, and of when."""
    return json.dumps({"holdfast": _KIND, "format": _FORMAT, "at": at.isoformat()})


def written(head: Head) -> str:
    """Write one head down."""
    return json.dumps({"job": str(head.job_id), "seq": head.seq, "head": head.digest})


def last_line(heads: int) -> str:
    """Say how many there were: a file that was cut is told from a whole one."""
    return json.dumps({"heads": heads})


def read_heads(lines: Iterable[str], name: str) -> Iterator[Head]:
    """Read what was kept; whatever is not as it was written ends it."""
    number, ended = 0, False
    for number, line in enumerate(lines, 1):
        match _parsed(line):
            case {"holdfast": kind, "format": form} if number == 1:
                if (kind, form) != (_KIND, _FORMAT):
                    raise BadInput(
                        f"{name} has {_plain(kind)} in format {_plain(form)}, which this release does not read"
                    )
            case {"job": str(job), "seq": int(seq), "head": str(digest)} if (
                number > 1 and not ended and _fits(job, seq, digest)
            ):
                yield Head(UUID(job), seq, digest)
            case {"heads": int(count)} if (
                number > 1 and not ended and type(count) is int and count == number - 2
            ):
                ended = True
            case _:
                raise BadInput(_broken(name, f"line {number} is not as holdfast audit --keep writes it"))
    if not ended:
        raise BadInput(_broken(name, f"it ends after line {number}, without the count of its heads"))


def _fits(job: str, seq: int, digest: str) -> bool:
    # True is an int to Python, and no number to PostgreSQL.
    is_number = type(seq) is int and seq in _SEQS
    return _ID.fullmatch(job) is not None and is_number and _DIGEST.fullmatch(digest) is not None


def _plain(said: object) -> str:
    """Write what a file says of itself so that it cannot steer a terminal."""
    return json.dumps(said).strip('"')


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # the latter of many brackets in each other
        return None


def _broken(name: str, what: str) -> str:
    return f"{name} cannot be compared: {what}. It is not a file of heads, or was changed or cut since: take another copy"
