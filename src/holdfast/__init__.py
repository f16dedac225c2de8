"""Durable jobs on PostgreSQL, with a state machine the database itself enforces."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.domain.alert import (
        AnyFailure,
        ApprovalOverdue,
        CallbackSilent,
        CompensationFailed,
        Failures,
        NoWorker,
        OldestWait,
        ScheduleMissed,
        SuccessRate,
    )
    from holdfast.domain.approval import Answer, Approval, Decision, Invitation
    from holdfast.domain.backoff import Backoff, Delays
    from holdfast.domain.encryption import Keys
    from holdfast.domain.errors import (
        ApprovalChanged,
        ApprovalClosed,
        ApprovalNotFound,
        ApprovalRefused,
        BadInput,
        BadPayload,
        Busy,
        Configuration,
        DatabaseUnavailable,
        DispatchFailed,
        DispatchRefused,
        DuplicateKey,
        EventTimedOut,
        HoldfastError,
        IdReused,
        IllegalMove,
        JobFailed,
        JobNotFound,
        LeaseLost,
        LimitReached,
        NotAllowed,
        NotRetryable,
        QuotaReached,
        ScheduleExists,
        ScheduleNotFound,
        SchemaMismatch,
        TenantBound,
        Unchangeable,
        Undecipherable,
        UnknownTask,
        WaitTimedOut,
    )
    from holdfast.domain.failure import Rules
    from holdfast.domain.feed import FeedEvent
    from holdfast.domain.flow import chain, group
    from holdfast.domain.outcome import Cancel, Fail, Retry
    from holdfast.domain.rollout import rollout_bucket, rollout_position
    from holdfast.domain.states import Status
    from holdfast.domain.step import StepsChanged
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.channels import Email, SignedWebhook, SlackWebhook
    from holdfast.runtime.context import Context, SyncContext
    from holdfast.runtime.executors.github import GitHubActions
    from holdfast.runtime.executors.http import HttpExecutor
    from holdfast.runtime.executors.protocol import Dispatch, Executor, RunRef
    from holdfast.runtime.feed import Feed
    from holdfast.runtime.handle import AsyncHandle, Handle
    from holdfast.runtime.holding import Claimed

__all__ = [
    "Answer",
    "AnyFailure",
    "Approval",
    "ApprovalChanged",
    "ApprovalClosed",
    "ApprovalNotFound",
    "ApprovalOverdue",
    "ApprovalRefused",
    "AsyncHandle",
    "Backoff",
    "BadInput",
    "BadPayload",
    "Busy",
    "CallbackSilent",
    "Cancel",
    "Claimed",
    "CompensationFailed",
    "Configuration",
    "Context",
    "DatabaseUnavailable",
    "Decision",
    "Delays",
    "Dispatch",
    "DispatchFailed",
    "DispatchRefused",
    "DuplicateKey",
    "Email",
    "EventTimedOut",
    "Executor",
    "Fail",
    "Failures",
    "Feed",
    "FeedEvent",
    "GitHubActions",
    "Handle",
    "Holdfast",
    "HoldfastError",
    "HttpExecutor",
    "IdReused",
    "IllegalMove",
    "Invitation",
    "JobFailed",
    "JobNotFound",
    "Keys",
    "LeaseLost",
    "LimitReached",
    "NoWorker",
    "NotAllowed",
    "NotRetryable",
    "OldestWait",
    "QuotaReached",
    "Retry",
    "Rules",
    "RunRef",
    "ScheduleExists",
    "ScheduleMissed",
    "ScheduleNotFound",
    "SchemaMismatch",
    "SignedWebhook",
    "SlackWebhook",
    "Status",
    "StepsChanged",
    "SuccessRate",
    "SyncContext",
    "TenantBound",
    "Unchangeable",
    "Undecipherable",
    "UnknownTask",
    "WaitTimedOut",
    "chain",
    "group",
    "rollout_bucket",
    "rollout_position",
]

# Imported when first used: `holdfast --help` and small scripts pay for neither the driver nor pydantic.
_HOMES = {
    "Answer": "holdfast.domain.approval",
    "AnyFailure": "holdfast.domain.alert",
    "Approval": "holdfast.domain.approval",
    "ApprovalChanged": "holdfast.domain.errors",
    "ApprovalClosed": "holdfast.domain.errors",
    "ApprovalNotFound": "holdfast.domain.errors",
    "ApprovalOverdue": "holdfast.domain.alert",
    "ApprovalRefused": "holdfast.domain.errors",
    "AsyncHandle": "holdfast.runtime.handle",
    "Backoff": "holdfast.domain.backoff",
    "BadInput": "holdfast.domain.errors",
    "BadPayload": "holdfast.domain.errors",
    "Busy": "holdfast.domain.errors",
    "CallbackSilent": "holdfast.domain.alert",
    "Cancel": "holdfast.domain.outcome",
    "Claimed": "holdfast.runtime.holding",
    "CompensationFailed": "holdfast.domain.alert",
    "Configuration": "holdfast.domain.errors",
    "Context": "holdfast.runtime.context",
    "DatabaseUnavailable": "holdfast.domain.errors",
    "Decision": "holdfast.domain.approval",
    "Delays": "holdfast.domain.backoff",
    "Dispatch": "holdfast.runtime.executors.protocol",
    "DispatchFailed": "holdfast.domain.errors",
    "DispatchRefused": "holdfast.domain.errors",
    "DuplicateKey": "holdfast.domain.errors",
    "Email": "holdfast.runtime.channels",
    "EventTimedOut": "holdfast.domain.errors",
    "Executor": "holdfast.runtime.executors.protocol",
    "Fail": "holdfast.domain.outcome",
    "Failures": "holdfast.domain.alert",
    "Feed": "holdfast.runtime.feed",
    "FeedEvent": "holdfast.domain.feed",
    "GitHubActions": "holdfast.runtime.executors.github",
    "Handle": "holdfast.runtime.handle",
    "Holdfast": "holdfast.runtime.app",
    "HoldfastError": "holdfast.domain.errors",
    "HttpExecutor": "holdfast.runtime.executors.http",
    "IdReused": "holdfast.domain.errors",
    "IllegalMove": "holdfast.domain.errors",
    "Invitation": "holdfast.domain.approval",
    "JobFailed": "holdfast.domain.errors",
    "JobNotFound": "holdfast.domain.errors",
    "Keys": "holdfast.domain.encryption",
    "LeaseLost": "holdfast.domain.errors",
    "LimitReached": "holdfast.domain.errors",
    "NoWorker": "holdfast.domain.alert",
    "NotAllowed": "holdfast.domain.errors",
    "NotRetryable": "holdfast.domain.errors",
    "OldestWait": "holdfast.domain.alert",
    "QuotaReached": "holdfast.domain.errors",
    "Retry": "holdfast.domain.outcome",
    "Rules": "holdfast.domain.failure",
    "RunRef": "holdfast.runtime.executors.protocol",
    "ScheduleExists": "holdfast.domain.errors",
    "ScheduleMissed": "holdfast.domain.alert",
    "ScheduleNotFound": "holdfast.domain.errors",
    "SchemaMismatch": "holdfast.domain.errors",
    "SignedWebhook": "holdfast.runtime.channels",
    "SlackWebhook": "holdfast.runtime.channels",
    "Status": "holdfast.domain.states",
    "StepsChanged": "holdfast.domain.step",
    "SuccessRate": "holdfast.domain.alert",
    "SyncContext": "holdfast.runtime.context",
    "TenantBound": "holdfast.domain.errors",
    "Unchangeable": "holdfast.domain.errors",
    "Undecipherable": "holdfast.domain.errors",
    "UnknownTask": "holdfast.domain.errors",
    "WaitTimedOut": "holdfast.domain.errors",
    "chain": "holdfast.domain.flow",
    "group": "holdfast.domain.flow",
    "rollout_bucket": "holdfast.domain.rollout",
    "rollout_position": "holdfast.domain.rollout",
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
