"""Who is shown what jobs work with: operators, programs, and for a while whoever has said why to the audit."""

from datetime import timedelta
from uuid import UUID

from holdfast.interfaces.http.operation import ApiCall
from holdfast.store.access import was_revealed

REVEALED_FOR = timedelta(minutes=10)
HIDDEN_JOB = (
    "payload, result, metadata and values of steps are hidden from your role:"
    " POST /jobs/{id}/reveal with a reason shows them to you for ten minutes, and the audit keeps it"
)
HIDDEN = "hidden from your role: ask an operator"


async def may_see(call: ApiCall, job_id: UUID) -> bool:
    """Whether the caller is shown what this job works with."""
    if call.principal.sees_payloads_of_jobs:
        return True
    return await call.ask(was_revealed(str(job_id), call.principal.name, REVEALED_FOR))
