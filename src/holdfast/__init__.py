"""Durable jobs on PostgreSQL, with a state machine the database itself enforces."""

from holdfast.domain.backoff import Backoff, Delays
from holdfast.domain.errors import (
    BadInput,
    BadPayload,
    Configuration,
    DatabaseUnavailable,
    DuplicateKey,
    HoldfastError,
    IdReused,
    IllegalMove,
    JobFailed,
    JobNotFound,
    LeaseLost,
    NotAllowed,
    NotRetryable,
    SchemaMismatch,
    Unchangeable,
    UnknownTask,
    WaitTimedOut,
)
from holdfast.domain.failure import Rules
from holdfast.domain.outcome import Cancel, Fail, Retry
from holdfast.domain.states import Status
from holdfast.runtime.app import Holdfast
from holdfast.runtime.context import Context
from holdfast.runtime.handle import AsyncHandle, Handle
from holdfast.runtime.holding import Claimed

__all__ = [
    "AsyncHandle",
    "Backoff",
    "BadInput",
    "BadPayload",
    "Cancel",
    "Claimed",
    "Configuration",
    "Context",
    "DatabaseUnavailable",
    "Delays",
    "DuplicateKey",
    "Fail",
    "Handle",
    "Holdfast",
    "HoldfastError",
    "IdReused",
    "IllegalMove",
    "JobFailed",
    "JobNotFound",
    "LeaseLost",
    "NotAllowed",
    "NotRetryable",
    "Retry",
    "Rules",
    "SchemaMismatch",
    "Status",
    "Unchangeable",
    "UnknownTask",
    "WaitTimedOut",
]
