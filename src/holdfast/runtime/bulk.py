"""Operations on many jobs at once: found and written down in one transaction, carried out by a durable job in chunks."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from holdfast.domain.backoff import Backoff
from holdfast.domain.bulk import MOST_JOBS, Change, search_for
from holdfast.domain.errors import BadInput, TooManyJobs
from holdfast.domain.payload import PayloadCodec
from holdfast.domain.search import Search
from holdfast.domain.task import TaskSettings
from holdfast.runtime.alerts import OWN_PREFIX, OWN_QUEUE
from holdfast.runtime.context import Context, JobContext
from holdfast.runtime.registry import AnyTask, ContextTask
from holdfast.store import bulk
from holdfast.store.call import Call, perform
from holdfast.store.ids import new_id
from holdfast.store.search import LOOKED_AT, find_ids

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

T = TypeVar("T")
Asking: TypeAlias = Generator[Call[Any], Any, T]

BULK_TASK = f"{OWN_PREFIX}bulk"
# Not retried by hand: a new operation with the same search takes what this one has left over.
SETTINGS = TaskSettings(
    name=BULK_TASK, executor="loop", queue=OWN_QUEUE, retries=20, backoff=Backoff(base=1.0, cap=60.0),
    manual_retries=0, options={"internal": True},
)  # fmt: skip
CHOSEN = "chosen jobs"
_AT_ONCE = 10_000
_MOST_QUESTIONS = 50


def bulk_task(app: "Holdfast") -> AnyTask:
    """Make the task that carries operations out: Holdfast's own, and no part of app.tasks."""
    return ContextTask(app, carry_out, SETTINGS, PayloadCodec.of(carry_out, context_type=JobContext))


async def carry_out(ctx: Context, chunks: int, total: int) -> dict[str, int]:
    """Deal with one chunk after the other; what a chunk did and that it did it are one transaction."""
    done = skipped = 0
    for nth in range(1, chunks + 1):
        outcome: list[int] = await ctx.step_transaction(f"chunk {nth}", _run_chunk, ctx.job_id, nth)
        done, skipped = done + outcome[0], skipped + outcome[1]
        await ctx.progress(done + skipped, total, f"{done:,} done, {skipped:,} skipped")
    return {"done": done, "skipped": skipped}


async def _run_chunk(connection: Any, operation_id: UUID, nth: int) -> list[int]:
    outcome = await perform(connection, bulk.run_chunk(operation_id, nth))
    return [outcome.done, outcome.skipped]


def creating(change: Change, search: Search, actor: str, reason: str | None) -> Asking[UUID]:
    """Find the jobs and make the operation; to be carried out in one transaction, by `asked` or `aasked`."""
    jobs = yield from gathering(change, search)
    return (yield from creating_of(change, jobs, search.tenant, actor, reason, found_by=search.text))


def creating_of(
    change: Change,
    jobs: Sequence[UUID],
    tenant: str | None,
    actor: str,
    reason: str | None,
    *,
    found_by: str | None = None,
    at_most: int | None = None,
) -> Asking[UUID]:
    """Make an operation on these jobs, found by a text; what it cannot be done to, or is another tenant's, is skipped."""
    chosen = list(dict.fromkeys(jobs))
    _refuse_more(chosen, at_most)
    operation_id = new_id()
    text = _written(chosen) if found_by is None else found_by
    yield bulk.begin_operation(
        operation_id, tenant, change, text, actor, reason, chosen, SETTINGS.definition()
    )
    return operation_id


def gathering(change: Change, search: Search, at_most: int | None = None) -> Asking[list[UUID]]:
    """Find the jobs that fit and that this can be done to; refuses to find more than were expected."""
    jobs = yield from _gathering(search_for(change.action, search))
    _refuse_more(jobs, at_most)
    return jobs


def _refuse_more(jobs: Sequence[UUID], at_most: int | None) -> None:
    if at_most is not None and len(jobs) > at_most:
        raise TooManyJobs(f"{len(jobs):,} jobs fit, more than the {at_most:,} that were expected: look again")


def _written(jobs: Sequence[UUID]) -> str:
    """Write jobs that were chosen by hand as a search, which has room for one."""
    return f"id:{jobs[0]}" if len(jobs) == 1 else f"{len(jobs)} {CHOSEN}"


def _gathering(search: Search) -> Asking[list[UUID]]:
    jobs: list[UUID] = []
    before: UUID | None = None
    for _ in range(_MOST_QUESTIONS):
        found = yield find_ids(search, _AT_ONCE, before=before)
        jobs += found.ids
        before = found.next
        if len(jobs) > MOST_JOBS:
            raise TooManyJobs(
                f"more than {MOST_JOBS:,} jobs fit, the most that one operation takes: narrow the search down, "
                "e.g. with task: or age:<1d, and make several operations"
            )
        if before is None:
            return jobs
    raise BadInput(
        f"the search looks at more than {_MOST_QUESTIONS * LOOKED_AT:,} jobs: narrow it down, e.g. with task: or age:<1d"
    )


async def aasked(asking: Asking[T], ask: Callable[[Call[Any]], Awaitable[Any]]) -> T:
    """Ask one question after the other."""
    try:
        call = next(asking)
        while True:
            call = asking.send(await ask(call))
    except StopIteration as end:
        value: T = end.value
        return value


def asked(asking: Asking[T], ask: Callable[[Call[Any]], Any]) -> T:
    """Ask one question after the other; see aasked."""
    try:
        call = next(asking)
        while True:
            call = asking.send(ask(call))
    except StopIteration as end:
        value: T = end.value
        return value
