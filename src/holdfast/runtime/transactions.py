"""The transaction that completes its job: the task's writes and COMPLETED commit together, or neither does."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.domain.errors import BadInput, DatabaseUnavailable
from holdfast.domain.states import Status
from holdfast.runtime.durable import EndOfReplay
from holdfast.runtime.link import Link
from holdfast.store.steps import complete_here, is_completed_by

if TYPE_CHECKING:
    from holdfast.runtime.job_context import JobContext


@asynccontextmanager
async def completing(context: "JobContext", link: Link) -> AsyncIterator[Any]:
    """Open the transaction; its end completes the job."""
    _refuse(context)
    try:
        async with link.atransaction() as transaction:
            yield transaction.connection
            context.raise_if_stopped()
            await transaction.perform(_completion(context))
    except DatabaseUnavailable:
        # The answer to COMMIT may have been lost: then the job is completed, and by this attempt.
        if not await link.aperform(is_completed_by(context.claimed)):
            raise
    context.durable.record(Status.COMPLETED)


@contextmanager
def completing_sync(context: "JobContext", link: Link) -> Iterator[Any]:
    """Open the transaction; its end completes the job."""
    _refuse(context)
    try:
        with link.transaction() as transaction:
            yield transaction.connection
            context.raise_if_stopped()
            transaction.perform(_completion(context))
    except DatabaseUnavailable:
        if not link.perform(is_completed_by(context.claimed)):
            raise
    context.durable.record(Status.COMPLETED)


def _completion(context: "JobContext") -> Any:
    return complete_here(context.claimed, context.given_result, context.captured_logs())


def _refuse(context: "JobContext") -> None:
    if context.durable.replayed is not None:
        raise EndOfReplay
    if context.recorded is not None:
        raise BadInput("the job is completed already: ctx.transaction() is a task's last act")
    # The fence is still good while a failure waits for steps of other branches: it would complete a job that has failed.
    context.raise_if_stopped()
