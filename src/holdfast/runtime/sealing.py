"""Where payloads are encrypted on their way into the database, and decrypted for the attempt that runs them."""

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from holdfast.domain.encryption import MEMBER, Bond, Keys, envelope_of, is_sealed
from holdfast.domain.errors import Configuration, Undecipherable
from holdfast.domain.job import ClaimedJob, NewJob
from holdfast.domain.limits import fields_of
from holdfast.domain.redaction import NOTHING, Hidden
from holdfast.store.claim import copies
from holdfast.store.hidden import Redacted

if TYPE_CHECKING:
    from holdfast.domain.task import TaskSettings
    from holdfast.runtime.link import Link


_NOBODY = UUID(int=0)  # no job has this id, so nothing is a copy of it


def sealed(keys: Keys, job: NewJob) -> NewJob:
    """Encrypt a new job's payload."""
    if is_sealed(job.payload):
        return job
    options = json.loads("{" + job.options.removeprefix(",") + "}")
    return job._replace(payload=keys.seal(job.payload, Bond(options.get("tenant"), job.id, job.task)))


def refuse_what_reads_payloads(settings: "TaskSettings") -> None:
    """Refuse a task whose payload the database would have to read."""
    if settings.unique_by is not None or fields_of(settings.options) or "feed_fields" in settings.options:
        raise Configuration(
            f"task {settings.name!r}: payloads are encrypted, and the database cannot read unique=, limits by a field, "
            "rollout_by= or feed_fields= out of them: give jobs a key= instead"
        )


def opened(keys: Keys | None, link: "Link", job: ClaimedJob) -> str:
    """Give the payload of a claimed job as its task reads it."""
    if not is_sealed(job.payload):
        return job.payload
    envelope = _envelope(job)
    origin = _origin(envelope)
    if origin != job.id and not link.perform(copies(job.id, origin)):
        raise _foreign(job)
    return _open(keys, envelope, job, origin)


async def aopened(keys: Keys | None, link: "Link", job: ClaimedJob) -> str:
    """Give the payload of a claimed job as its task reads it."""
    if not is_sealed(job.payload):
        return job.payload
    envelope = _envelope(job)
    origin = _origin(envelope)
    if origin != job.id and not await link.aperform(copies(job.id, origin)):
        raise _foreign(job)
    return _open(keys, envelope, job, origin)


def hidden_by(keys: Keys | None, told: Redacted | None) -> Hidden:
    """Say what is hidden of a job; of an encrypted payload that cannot be read here, only where it would stand."""
    if told is None:
        return NOTHING
    sealed_in = told.payload.get(MEMBER)
    if not isinstance(sealed_in, dict):
        return Hidden.of(told.payload, told.paths)
    try:
        text = keys.open(sealed_in, Bond(told.tenant, _origin(sealed_in), told.task)) if keys else "{}"
    except Undecipherable:
        text = "{}"
    return Hidden.of(json.loads(text), told.paths)


def _envelope(job: ClaimedJob) -> dict[str, Any]:
    return envelope_of(job.payload)


def _origin(envelope: dict[str, Any]) -> UUID:
    # A retry by hand and a compensation carry the payload of the job they belong to, bound to that one.
    try:
        return UUID(str(envelope.get("job")))
    except ValueError:
        return _NOBODY


def _open(keys: Keys | None, envelope: dict[str, Any], job: ClaimedJob, origin: UUID) -> str:
    if keys is None:
        raise Undecipherable(
            f"job {job.id}: its payload is encrypted, and this app has no keys (encryption=)"
        )
    return keys.open(envelope, Bond(job.tenant, origin, job.task))


def _foreign(job: ClaimedJob) -> Undecipherable:
    return Undecipherable(f"job {job.id}: its payload was not written for this job, tenant and task")
