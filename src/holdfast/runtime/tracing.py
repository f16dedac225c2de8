"""Spans of OpenTelemetry, where it is installed (`pip install "holdfast[tracing]"`); else nothing happens, at no cost.

A job keeps the traceparent of who enqueued it. Its first attempt goes on in that trace; a later one begins a trace of its own
and links to it, because hours may lie between them.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from uuid import UUID

from holdfast.domain.job import ClaimedJob, NewJob
from holdfast.domain.outcome import Crashed, Failed, Outcome

try:
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    _is_installed = False
else:
    _is_installed = True
    _format = TraceContextTextMapPropagator()

_SYSTEM = "messaging.system"
_MEMBER = '"trace_parent"'


def _tracer() -> Any:
    """Give the tracer of the SDK that was set up, None without one: spans that nobody records cost 20 µs each."""
    if not _is_installed:
        return None
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer("holdfast")


def is_on() -> bool:
    """Whether anybody would see a span."""
    return _tracer() is not None


@contextmanager
def _span(tracer: Any, name: str, **told: Any) -> Iterator[Any]:
    """Open a span that says of an error its class alone: the message may hold what only the task should read."""
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False, **told
    ) as span:
        try:
            yield span
        except Exception as error:
            span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


@contextmanager
def enqueuing(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    """Give the jobs with the traceparent of their enqueue's span, unless their caller gave them one."""
    tracer = _tracer()
    if tracer is None or not jobs:
        yield jobs
        return
    names = sorted({job.task for job in jobs})
    called = f"enqueue {names[0]}" if len(names) == 1 else "enqueue"
    told: dict[str, Any] = {_SYSTEM: "holdfast", "messaging.batch.message_count": len(jobs)}
    with _span(tracer, called, kind=trace.SpanKind.PRODUCER, attributes=told) as span:
        carrier: dict[str, str] = {}
        if span.is_recording():
            _format.inject(carrier)
        written = f",{_MEMBER}:{json.dumps(carrier['traceparent'])}" if carrier else ""
        yield [
            job if not written or _MEMBER in job.options else job._replace(options=job.options + written)
            for job in jobs
        ]


@contextmanager
def attempt(job: ClaimedJob) -> Iterator[Any]:
    """Open the span of an attempt; gives None where nobody traces."""
    tracer = _tracer()
    if tracer is None:
        yield None
        return
    parent = json.loads(job.extras).get("trace_parent") if job.extras else None
    origin = _format.extract({"traceparent": parent}) if parent else None
    is_first = job.attempt == 1
    cause = trace.get_current_span(origin).get_span_context() if origin is not None else None
    links = [trace.Link(cause)] if cause is not None and cause.is_valid and not is_first else []
    told: dict[str, Any] = {
        _SYSTEM: "holdfast",
        "messaging.operation.type": "process",
        "messaging.message.id": str(job.id),
        "holdfast.task": job.task,
        "holdfast.attempt": job.attempt,
        **({"holdfast.tenant": job.tenant} if job.tenant else {}),
    }
    with tracer.start_as_current_span(
        f"run {job.task}",
        context=origin if is_first and origin is not None else context.Context(),
        kind=trace.SpanKind.CONSUMER,
        links=links,
        attributes=told,
    ) as span:
        yield span


def ended(span: Any, outcome: Outcome) -> None:
    """Say in an attempt's span how it ended; the message of an error stays in the database, for who may read it."""
    if span is None:
        return
    span.set_attribute("holdfast.outcome", type(outcome).__name__.lower())
    if isinstance(outcome, Failed | Crashed):
        kind = str(outcome.error.get("type", "error"))
        span.set_attribute("error.type", kind)
        span.set_status(trace.Status(trace.StatusCode.ERROR, kind))


def step(name: str) -> AbstractContextManager[Any]:
    """Open the span of a step."""
    tracer = _tracer()
    if tracer is None:
        return nullcontext()
    return _span(tracer, f"step {name}", attributes={"holdfast.step": name})


def dispatch(executor: str, job_id: UUID) -> AbstractContextManager[Any]:
    """Open the span of a call to an outside executor."""
    tracer = _tracer()
    if tracer is None:
        return nullcontext()
    told = {"holdfast.executor": executor, "messaging.message.id": str(job_id)}
    return _span(tracer, f"dispatch {executor}", kind=trace.SpanKind.CLIENT, attributes=told)
