"""Job ids as people give them: whole, or the beginning of one where that is enough to tell it from all others."""

import re
from uuid import UUID

from holdfast.domain.errors import BadInput, JobNotFound
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.output import plain

_SHORTEST = 6
_SHOWN = 5


def find_id(text: str) -> UUID:
    """Read a job's id; the beginning of one must fit exactly one job."""
    from holdfast.store.inspect import jobs_beginning_with

    digits = text.strip().replace("-", "").lower()
    if re.fullmatch(r"[0-9a-f]{32}", digits):
        return UUID(digits)
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},31}}", digits):
        raise BadInput(
            f"{text!r} is no job id: give all of it, or at least its first {_SHORTEST} digits (holdfast job list shows ids)"
        )
    found = current().link.perform_once(jobs_beginning_with(digits, limit=_SHOWN + 1))
    if not found:
        raise JobNotFound(f"no job's id begins with {text}")
    if len(found) > 1:
        named = "\n".join(f"  {each.id}  {each.status}  {plain(each.task)}" for each in found[:_SHOWN])
        more = "\n  …" if len(found) > _SHOWN else ""
        raise BadInput(f"{text} is the beginning of several jobs' ids; give more of it:\n{named}{more}")
    return found[0].id
