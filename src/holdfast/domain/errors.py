"""Errors a caller can act on; each says what happened, to what, and what to do next."""

from datetime import datetime
from uuid import UUID


class HoldfastError(Exception):
    """Base of every error Holdfast raises."""


class BadInput(HoldfastError, ValueError):
    """What was given cannot be stored or obeyed; nothing was written."""


class BadPayload(BadInput):
    """A job's arguments or result cannot be kept as JSON."""


class Configuration(HoldfastError):
    """A setting is missing or makes no sense."""


class DatabaseUnavailable(HoldfastError):
    """The database could not be reached, or did not answer in time."""


class Busy(DatabaseUnavailable):
    """Somebody keeps a lock on what was to be written; the rest of the database goes on."""


class TransactionAborted(HoldfastError):
    """A transaction cannot be committed: one of its statements failed, and whoever ran it went on."""


class SchemaMismatch(HoldfastError):
    """The database's schema is not the one this release needs."""


class NotAllowed(HoldfastError):
    """The database login lacks a right it needs here."""


class UnknownTask(HoldfastError):
    """No task of that name is registered in this database."""


class JobNotFound(HoldfastError):
    """No job has that id (or its transaction has not committed yet)."""


class OperationNotFound(HoldfastError):
    """No operation has that id."""


class TooManyJobs(HoldfastError):
    """More jobs fit than the operation may touch; nothing was done."""


class ScheduleNotFound(HoldfastError):
    """No schedule has that name."""


class ScheduleExists(HoldfastError):
    """A schedule of that name exists and says something else."""


class WorkerNotFound(HoldfastError):
    """No living worker has that id or name."""


class ViewNotFound(HoldfastError):
    """There is no view of that name."""


class IllegalMove(HoldfastError):
    """The state machine has no such move; the job stays as it was."""


class Unchangeable(HoldfastError):
    """Somebody tried to change or remove what is kept for ever."""


class DuplicateKey(HoldfastError):
    """Another job holds this key and the caller asked for an error."""

    def __init__(self, message: str, job_id: UUID | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id


class LimitReached(HoldfastError):
    """A limit does not let this job wait, and another job is in the way; nothing was enqueued."""

    def __init__(self, message: str, job_id: UUID | None = None, key: str | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.key = key


class IdReused(HoldfastError):
    """A job with this id exists and says something else."""


class QuotaReached(HoldfastError):
    """The tenant has used up what its quota allows in this period; nothing was enqueued."""


class TenantBound(HoldfastError):
    """The caller is bound to a tenant, and this belongs to another or to all."""


class TenantsNotApart(HoldfastError):
    """This database has a single role, or this login not the rights, so that who is bound to a tenant cannot be kept to it."""


class Undecipherable(HoldfastError):
    """A payload is encrypted with a key that is not here, or was written for another job."""


class NotRetryable(HoldfastError):
    """This job cannot be retried by hand now; the message says why."""


class LeaseLost(HoldfastError):
    """Another attempt owns this job now, or nobody does; throw this one's result away."""

    def __init__(self, job_id: UUID, attempt: int, status: str | None = None) -> None:
        now = f"it is {status} now" if status else "it is gone"
        super().__init__(f"attempt {attempt} no longer owns job {job_id}: {now}; its result was not recorded")
        self.job_id = job_id
        self.attempt = attempt
        self.status = status


class JobFailed(HoldfastError):
    """The job whose result was asked for ended FAILED or CANCELLED."""

    def __init__(self, message: str, job_id: UUID, status: str) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.status = status


class ApprovalNotFound(HoldfastError):
    """No approval has that id."""


class ApprovalRefused(HoldfastError):
    """This person may not decide, or not like this; the message says why. The approval is open as before."""


class ApprovalClosed(HoldfastError):
    """Somebody else, or the clock, has decided already; that decision stands."""

    def __init__(
        self, approval_id: UUID, decision: str, decided_by: str, decided_at: datetime | None
    ) -> None:
        when = f" at {decided_at:%Y-%m-%d %H:%M:%S %Z}" if decided_at else ""
        super().__init__(f"approval {approval_id} is {decision} already, by {decided_by}{when}; that stands")
        self.approval_id = approval_id
        self.decision = decision
        self.decided_by = decided_by
        self.decided_at = decided_at


class ApprovalChanged(HoldfastError):
    """A task asks something else than what people approved; the decision does not count for it."""


class DeliveryNotFound(HoldfastError):
    """No delivery of a webhook has that id."""


class KeyNotFound(HoldfastError):
    """No key has that id."""


class KeyRefused(HoldfastError):
    """Two keys of that name count already, or the key that was to be replaced counts no more."""


class PersonNotFound(HoldfastError):
    """Nobody has that name."""


class PersonExists(HoldfastError):
    """There is a person of that name already."""


class EventTimedOut(HoldfastError, TimeoutError):
    """The event that a job waited for did not come in time."""

    def __init__(self, event: str) -> None:
        super().__init__(f"event {event!r} did not come in time")
        self.event = event


class WaitTimedOut(HoldfastError, TimeoutError):
    """The job was still going when the caller's patience ended; the job itself goes on."""


class DispatchRefused(HoldfastError):
    """An outside executor said no, and would say no again; the message names what is missing."""


class DispatchFailed(HoldfastError):
    """An outside executor could not be called now; `is_doubtful` when it may have obeyed all the same."""

    def __init__(self, message: str, *, retry_after: float | None = None, is_doubtful: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_doubtful = is_doubtful
