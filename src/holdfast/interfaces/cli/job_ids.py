"""Ids as people give them: whole, or the beginning of one where that is enough to tell it from all others."""

import re
from collections.abc import Callable
from uuid import UUID

from holdfast.domain.errors import BadInput, HoldfastError, JobNotFound
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.output import plain

_SHORTEST = 6
_SHOWN = 5


def find_id(text: str) -> UUID:
    """Read a job's id; the beginning of one must fit exactly one job."""
    from holdfast.store.inspect import jobs_between

    def candidates(first: UUID, last: UUID, limit: int) -> list[tuple[UUID, str]]:
        found = current().link.perform_once(jobs_between(first, last, limit))
        return [(each.id, f"{each.status}  {plain(each.task)}") for each in found]

    return find_by_beginning(text, "job", candidates, JobNotFound)


def find_by_beginning(
    text: str,
    kind: str,
    candidates: Callable[[UUID, UUID, int], list[tuple[UUID, str]]],
    unknown: type[HoldfastError],
) -> UUID:
    """Read an id; the beginning of one must fit exactly one of the candidates in the range of ids that it stands for."""
    digits = text.strip().replace("-", "").lower()
    if re.fullmatch(r"[0-9a-f]{32}", digits):
        return UUID(digits)
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},31}}", digits):
        raise BadInput(
            f"{text!r} is no {kind} id: give all of it, or at least its first {_SHORTEST} digits (holdfast {kind} list shows ids)"
        )
    found = candidates(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")), _SHOWN + 1)
    if not found:
        raise unknown(f"no {kind}'s id begins with {text}")
    if len(found) > 1:
        named = "\n".join(f"  {each}  {what}" for each, what in found[:_SHOWN])
        more = "\n  …" if len(found) > _SHOWN else ""
        raise BadInput(f"{text} is the beginning of several {kind}s' ids; give more of it:\n{named}{more}")
    return found[0][0]
