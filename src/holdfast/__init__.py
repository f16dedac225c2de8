"""Durable jobs on PostgreSQL, with a state machine the database itself enforces."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.domain.backoff import Backoff, Delays
    from holdfast.domain.errors import (
        BadInput,
        BadPayload,
        Busy,
        Configuration,
        DatabaseUnavailable,
        DuplicateKey,
        EventTimedOut,
        HoldfastError,
        IdReused,
        IllegalMove,
        JobFailed,
        JobNotFound,
        LeaseLost,
        NotAllowed,
        NotRetryable,
        QuotaReached,
        SchemaMismatch,
        Unchangeable,
        UnknownTask,
        WaitTimedOut,
    )
    from holdfast.domain.failure import Rules
    from holdfast.domain.feed import FeedEvent
    from holdfast.domain.outcome import Cancel, Fail, Retry
    from holdfast.domain.states import Status
    from holdfast.domain.step import StepsChanged
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.context import Context, SyncContext
    from holdfast.runtime.feed import Feed
    from holdfast.runtime.handle import AsyncHandle, Handle
    from holdfast.runtime.holding import Claimed

__all__ = [
    "AsyncHandle",
    "Backoff",
    "BadInput",
    "BadPayload",
    "Busy",
    "Cancel",
    "Claimed",
    "Configuration",
    "Context",
    "DatabaseUnavailable",
    "Delays",
    "DuplicateKey",
    "EventTimedOut",
    "Fail",
    "Feed",
    "FeedEvent",
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
    "QuotaReached",
    "Retry",
    "Rules",
    "SchemaMismatch",
    "Status",
    "StepsChanged",
    "SyncContext",
    "Unchangeable",
    "UnknownTask",
    "WaitTimedOut",
]

# Imported when first used: `holdfast --help` and small scripts pay for neither the driver nor pydantic.
_HOMES = {
    "AsyncHandle": "holdfast.runtime.handle",
    "Backoff": "holdfast.domain.backoff",
    "BadInput": "holdfast.domain.errors",
    "BadPayload": "holdfast.domain.errors",
    "Busy": "holdfast.domain.errors",
    "Cancel": "holdfast.domain.outcome",
    "Claimed": "holdfast.runtime.holding",
    "Configuration": "holdfast.domain.errors",
    "Context": "holdfast.runtime.context",
    "DatabaseUnavailable": "holdfast.domain.errors",
    "Delays": "holdfast.domain.backoff",
    "DuplicateKey": "holdfast.domain.errors",
    "EventTimedOut": "holdfast.domain.errors",
    "Fail": "holdfast.domain.outcome",
    "Feed": "holdfast.runtime.feed",
    "FeedEvent": "holdfast.domain.feed",
    "Handle": "holdfast.runtime.handle",
    "Holdfast": "holdfast.runtime.app",
    "HoldfastError": "holdfast.domain.errors",
    "IdReused": "holdfast.domain.errors",
    "IllegalMove": "holdfast.domain.errors",
    "JobFailed": "holdfast.domain.errors",
    "JobNotFound": "holdfast.domain.errors",
    "LeaseLost": "holdfast.domain.errors",
    "NotAllowed": "holdfast.domain.errors",
    "NotRetryable": "holdfast.domain.errors",
    "QuotaReached": "holdfast.domain.errors",
    "Retry": "holdfast.domain.outcome",
    "Rules": "holdfast.domain.failure",
    "SchemaMismatch": "holdfast.domain.errors",
    "Status": "holdfast.domain.states",
    "StepsChanged": "holdfast.domain.step",
    "SyncContext": "holdfast.runtime.context",
    "Unchangeable": "holdfast.domain.errors",
    "UnknownTask": "holdfast.domain.errors",
    "WaitTimedOut": "holdfast.domain.errors",
}

if not TYPE_CHECKING:  # a type checker would believe in any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
        value: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
