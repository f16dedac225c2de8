"""structlog: every line that is logged during an attempt says which job, task, attempt and tenant it belongs to."""

from collections.abc import Iterator as _Iterator
from typing import TYPE_CHECKING

from structlog.contextvars import bound_contextvars as _bound

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.context import JobContext

__all__ = ["bind_jobs"]


def bind_jobs(app: "Holdfast") -> None:
    """Bind what runs to its lines; `structlog.contextvars.merge_contextvars` must be among your processors.

    Call it where the app is made, so that child processes have it too.
    """

    @app.around
    def binding(ctx: "JobContext") -> _Iterator[None]:
        whose = {} if ctx.tenant is None else {"tenant": ctx.tenant}
        with _bound(job_id=str(ctx.job_id), task=ctx.task, attempt=ctx.attempt, **whose):
            yield
