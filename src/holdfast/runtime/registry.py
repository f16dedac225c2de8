"""Tasks: a function that stays callable, and the ways to enqueue it, type-checked."""

import inspect
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast
from uuid import UUID

from holdfast.domain.errors import BadInput
from holdfast.domain.job import NewJob
from holdfast.domain.payload import PayloadCodec
from holdfast.domain.task import TaskSettings, seconds
from holdfast.runtime.context import Context
from holdfast.runtime.handle import AsyncHandle, Handle
from holdfast.store.ids import new_id

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

P = ParamSpec("P")
R = TypeVar("R")
Returned = TypeVar("Returned")

OnConflict: TypeAlias = Literal["return", "raise", "replace"]


class Enqueues(Generic[P, R]):
    """The ways to enqueue a task: one at a time, or as jobs for enqueue_many."""

    def __init__(self, app: "Holdfast", task: "AnyTask", options: str = "", conn: Any = None) -> None:
        self._app = app
        self._task = task
        self._options = options
        self._conn = conn

    def job(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """Make a job without enqueuing it, for app.enqueue_many."""
        return NewJob(new_id(), self._task.name, self._task.codec.encode(args, kwargs), self._options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Enqueue a job; when this returns outside a transaction of the caller's, the job is durable."""
        return self._app.enqueue_many([self.job(*args, **kwargs)], conn=self._conn)[0]

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> AsyncHandle[R]:
        """Enqueue a job; when this returns outside a transaction of the caller's, the job is durable."""
        return (await self._app.aenqueue_many([self.job(*args, **kwargs)], conn=self._conn))[0]


class _Task(Enqueues[P, R]):
    """A registered task."""

    def __init__(self, app: "Holdfast", function: Callable[..., Any], settings: TaskSettings, codec: PayloadCodec) -> None:
        super().__init__(app, self)
        self.function = function
        self.settings = settings
        self.codec = codec
        self.takes_context = takes_context(function)
        self.is_async = inspect.iscoroutinefunction(function)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    @property
    def name(self) -> str:
        """The name it is registered under, in code and database alike."""
        return self.settings.name

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def using(
        self,
        *,
        run_at: datetime | None = None,
        run_in: timedelta | float | None = None,
        queue: str | None = None,
        priority: int | None = None,
        key: str | None = None,
        key_scope: Literal["active", "success", "ever"] | None = None,
        on_conflict: OnConflict | None = None,
        tenant: str | None = None,
        subject: str | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        metadata: dict[str, Any] | None = None,
        requested_by: str | None = None,
        trace_parent: str | None = None,
        retries: int | None = None,
        timeout: timedelta | float | None = None,
        conn: Any = None,
    ) -> Enqueues[P, R]:
        """Give options to the jobs that are enqueued through the answer; `conn` enqueues in the caller's own transaction."""
        options = {
            "run_at": _moment(run_at),
            "run_in": seconds(run_in),
            "queue": queue,
            "priority": priority,
            "key": key,
            "key_scope": key_scope,
            "on_conflict": on_conflict,
            "tenant": tenant,
            "subject": subject,
            "tags": None if tags is None else _strings(tags),
            "label": label,
            "metadata": metadata,
            "requested_by": requested_by,
            "trace_parent": trace_parent,
            "max_retries": retries,
            "timeout": seconds(timeout),
        }
        return Enqueues(self._app, self, _members(options), conn)


class Task(_Task[P, R], Generic[P, R, Returned]):
    """A task whose function takes what enqueue takes."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Returned:
        """Call the function itself, here and now."""
        return cast("Returned", self.function(*args, **kwargs))


class ContextTask(_Task[P, R], Generic[P, R, Returned]):
    """A task whose function takes a Context first, which enqueue does not."""

    def __call__(self, context: Context, /, *args: P.args, **kwargs: P.kwargs) -> Returned:
        """Call the function itself, here and now."""
        return cast("Returned", self.function(context, *args, **kwargs))


AnyTask: TypeAlias = _Task[Any, Any]
ContextFunction: TypeAlias = Callable[Concatenate[Context, P], R]


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is annotated Context."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        return False
    annotation = parameters[0].annotation
    if isinstance(annotation, str):
        annotation = inspect.get_annotations(function, eval_str=False).get(parameters[0].name)
        return isinstance(annotation, str) and annotation.rpartition(".")[2] == Context.__name__
    return annotation is Context


def _moment(at: datetime | None) -> str | None:
    if at is None:
        return None
    if at.tzinfo is None:
        raise BadInput(f"run_at={at.isoformat()} has no time zone: use an aware datetime, e.g. datetime.now(UTC) + timedelta(hours=1)")
    return at.astimezone(UTC).isoformat()


def _strings(tags: Sequence[str]) -> list[str]:
    if isinstance(tags, str):
        raise BadInput(f"tags={tags!r} is a string: give a list, e.g. tags=[{tags!r}]")
    return list(tags)


def _members(options: dict[str, Any]) -> str:
    """Write the options that were given as the rest of a JSON object."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return ""
    try:
        text = json.dumps(given, allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise BadInput(f"the options {sorted(given)} cannot be written as JSON: {error}") from error
    return "," + text[1:-1]


def as_uuid(job_id: UUID | str) -> UUID:
    """Read a job's id."""
    try:
        return job_id if isinstance(job_id, UUID) else UUID(job_id)
    except ValueError as error:
        raise BadInput(f"{job_id!r} is not a job id") from error
