"""Tasks: a function that stays callable, and the ways to enqueue it, type-checked."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar, cast
from uuid import UUID

from holdfast.domain.errors import BadInput, Configuration
from holdfast.domain.job import NewJob
from holdfast.domain.limits import fields_of
from holdfast.domain.options import OnConflict, OnParentFailure, written_options
from holdfast.domain.parameters import read_parameters
from holdfast.domain.payload import PayloadCodec
from holdfast.domain.redaction import first_names
from holdfast.domain.task import KeyScope, TaskSettings
from holdfast.runtime.context import JobContext
from holdfast.runtime.handle import AsyncHandle, Handle, as_uuid
from holdfast.store.ids import new_id

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.runtime.link import Link

P = ParamSpec("P")
R = TypeVar("R")
Returned = TypeVar("Returned")


class Enqueues(Generic[P, R]):
    """The ways to enqueue a task: one at a time, or as jobs for enqueue_many."""

    def __init__(self, app: "Holdfast", task: "AnyTask", options: str = "", conn: Any = None) -> None:
        self._app = app
        self._task = task
        self._options = options
        self._conn = conn

    @property
    def task(self) -> "AnyTask":
        """The task that it enqueues."""
        return self._task

    def job(self, /, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """Make a job without enqueuing it, for app.enqueue_many."""
        return NewJob(new_id(), self._task.name, self._task.codec.encode(args, kwargs), self._options)

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Enqueue a job; when this returns outside a transaction of the caller's, the job is durable."""
        return self._app.enqueue_many([self.job(*args, **kwargs)], conn=self._conn)[0]

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> AsyncHandle[R]:
        """Enqueue a job; when this returns outside a transaction of the caller's, the job is durable."""
        return (await self._app.aenqueue_many([self.job(*args, **kwargs)], conn=self._conn))[0]


class _Task(Enqueues[P, R]):
    """A registered task."""

    def __init__(
        self, app: "Holdfast", function: Callable[..., Any], settings: TaskSettings, codec: PayloadCodec
    ) -> None:
        super().__init__(app, self)
        self.function = function
        self.body = function  # what a worker calls: the function, in what its app wraps around all of them
        self.settings = settings
        self.codec = codec
        self.takes_context = takes_context(function)
        self.undo_takes_context = settings.compensate is not None and takes_context(settings.compensate)
        self.is_async = is_async(function)
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", settings.name)
        self.__wrapped__ = function

    @property
    def name(self) -> str:
        """The name it is registered under, in code and database alike."""
        return self.settings.name

    @property
    def app(self) -> "Holdfast":
        """The app that it is registered with."""
        return self._app

    @property
    def link(self) -> "Link":
        """The app's way to its database."""
        return self._app.link

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
        key_scope: KeyScope | None = None,
        on_conflict: OnConflict | None = None,
        tenant: str | None = None,
        subject: str | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        requested_by: str | None = None,
        trace_parent: str | None = None,
        retries: int | None = None,
        timeout: timedelta | float | None = None,
        after: Sequence["Needed"] | None = None,
        on_parent_failure: OnParentFailure | None = None,
        conn: Any = None,
    ) -> Enqueues[P, R]:
        """Give options to the jobs that are enqueued through the answer; `conn` enqueues in the caller's own transaction."""
        options = written_options(
            run_at=run_at,
            run_in=run_in,
            queue=queue,
            priority=priority,
            key=key,
            key_scope=key_scope,
            on_conflict=on_conflict,
            tenant=tenant,
            subject=subject,
            tags=tags,
            label=label,
            metadata=metadata,
            requested_by=requested_by,
            trace_parent=trace_parent,
            retries=retries,
            timeout=timeout,
            after=None if after is None else [id_of(job) for job in after],
            on_parent_failure=on_parent_failure,
        )
        return Enqueues(self._app, self, options, conn)


class Task(_Task[P, R], Generic[P, R, Returned]):
    """A task whose function takes what enqueue takes."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Returned:
        """Call the function itself, here and now."""
        return cast("Returned", self.function(*args, **kwargs))


class ContextTask(_Task[P, R], Generic[P, R, Returned]):
    """A task whose function takes a Context first, which enqueue does not."""

    def __call__(self, context: JobContext, /, *args: P.args, **kwargs: P.kwargs) -> Returned:
        """Call the function itself, here and now."""
        return cast("Returned", self.function(context, *args, **kwargs))


AnyTask: TypeAlias = _Task[Any, Any]
# What a job can be told to run after: a job that was enqueued, its id, or one that comes earlier in the same call.
Needed: TypeAlias = Handle[Any] | AsyncHandle[Any] | NewJob | UUID | str


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is annotated as a context, and so no part of the payload."""
    parameters = read_parameters(function, JobContext, {})
    return len(inspect.signature(function).parameters) > len(parameters.ordered) + parameters.takes_extra


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; an object may be called too."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def refuse_unfit(function: Callable[..., Any]) -> None:
    """Refuse what cannot be a task, before anything is derived from it."""
    if isinstance(function, type) or not callable(function):
        raise Configuration(f"{function!r} is no function: @app.task() stands above a def or an async def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise Configuration(f"{function.__qualname__} yields: a task returns its result once")
    first = next(iter(inspect.signature(function).parameters), None)
    if first in {"self", "cls"}:
        raise Configuration(
            f"{getattr(function, '__qualname__', function)} is a method, and {first} cannot be stored with a job: "
            "make the task a function, or a staticmethod"
        )


def default_name(function: Callable[..., Any]) -> str:
    """Name a task after its function."""
    name: str = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise Configuration(f"{function!r} has no name of its own: pass name= to @app.task()")
    return name


def refuse_unknown_fields(function: Callable[..., Any], settings: TaskSettings) -> None:
    """Refuse unique=[…], feed_fields=[…] and redact=[…] that name what the payload will never have, or contradict each other."""
    parameters = read_parameters(function, JobContext, {})
    unknown = [] if parameters.takes_extra else sorted(set(settings.unique_by or ()) - set(parameters.types))
    if unknown:
        raise Configuration(
            f"task {settings.name!r} is unique by {', '.join(unknown)}, which it does not take"
        )
    unknown = [] if parameters.takes_extra else sorted(fields_of(settings.options) - set(parameters.types))
    if unknown:
        raise Configuration(
            f"task {settings.name!r} is limited, rated or rolled out by {', '.join(unknown)}, which it does not take"
        )
    silent = (
        []
        if parameters.takes_extra
        else sorted(set(settings.options.get("feed_fields", ())) - set(parameters.types))
    )
    if silent:
        raise Configuration(
            f"task {settings.name!r} shows {', '.join(silent)} in its events (feed_fields=), which it does not take"
        )
    _refuse_unfit_redaction(settings, None if parameters.takes_extra else set(parameters.types))


def _refuse_unfit_redaction(settings: TaskSettings, fields: set[str] | None) -> None:
    hidden = first_names(settings.options.get("redact", ()))
    if fields is not None and (unknown := sorted(hidden - fields - {"*"})):
        raise Configuration(f"task {settings.name!r} redacts {', '.join(unknown)}, which it does not take")


def redacting(settings: TaskSettings, secrets: Sequence[str]) -> TaskSettings:
    """Let a task redact what its signature calls a secret, whether redact= names it or not; refuses to show it all the same."""
    if secrets:
        paths = list(dict.fromkeys([*settings.options.get("redact", ()), *secrets]))
        settings = replace(settings, options={**settings.options, "redact": paths})
    hidden = first_names(settings.options.get("redact", ()))
    # Both are read from the payload by the database, and stand in events and in the names of limits.
    shown = {*settings.options.get("feed_fields", ()), *fields_of(settings.options)}
    if told := sorted(shown if "*" in hidden else hidden & shown):
        raise Configuration(
            f"task {settings.name!r} redacts {', '.join(told)}, and shows it in its events, limits or rollout: choose one"
        )
    return settings


def id_of(job: Needed) -> UUID:
    """Read which job is meant."""
    if isinstance(job, UUID | str):
        return as_uuid(job)
    if not isinstance(job, Handle | AsyncHandle | NewJob):
        raise BadInput(f"after= takes handles, ids and jobs made by task.job(…), not {type(job).__name__}")
    return job.id
