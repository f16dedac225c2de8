"""Spans as OpenTelemetry's own SDK sees them: enqueue, attempt and step in one trace, retries linked to it."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast import Context, Holdfast, Retry
from holdfast.testing import ScratchDatabase


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield kept
    provider.shutdown()


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


async def test_a_job_goes_on_in_the_trace_of_who_enqueued_it(
    app: Holdfast, spans: InMemorySpanExporter
) -> None:
    def receipt(amount: int) -> int:
        assert trace.get_current_span().get_span_context().is_valid
        return amount

    @app.task()
    async def charge(ctx: Context, amount: int) -> int:
        return await ctx.step("receipt", receipt, amount)

    await charge.aenqueue(7)
    await app.run_worker(until_idle=True, handle_signals=False)

    (enqueued,), (ran,), (step,) = (
        named(spans, name) for name in ("enqueue charge", "run charge", "step receipt")
    )
    assert ran.context.trace_id == step.context.trace_id == enqueued.context.trace_id
    assert ran.parent is not None
    assert ran.parent.span_id == enqueued.context.span_id
    assert step.parent is not None
    assert step.parent.span_id == ran.context.span_id
    assert ran.attributes is not None
    assert ran.attributes["holdfast.outcome"] == "completed"


async def test_a_later_attempt_begins_a_trace_and_links_to_the_first(
    app: Holdfast, spans: InMemorySpanExporter, holdfast_db: ScratchDatabase
) -> None:
    @app.task(backoff=0)
    async def flaky(ctx: Context) -> None:
        if ctx.attempt == 1:
            raise Retry("again, with a card number 4242")

    await flaky.aenqueue()
    await app.run_worker(until_idle=True, handle_signals=False)

    (enqueued,), (first, second) = named(spans, "enqueue flaky"), named(spans, "run flaky")
    assert first.status.status_code is trace.StatusCode.ERROR
    assert second.parent is None
    assert second.context.trace_id != first.context.trace_id
    assert [link.context.span_id for link in second.links] == [enqueued.context.span_id]
    assert "4242" not in str([span.to_json() for span in spans.get_finished_spans()])


async def test_a_traceparent_that_the_caller_gives_is_kept(
    app: Holdfast, spans: InMemorySpanExporter
) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @app.task()
    async def note(ctx: Context) -> str | None:
        return ctx.trace_parent

    handle = await note.using(trace_parent=given).aenqueue()
    await app.run_worker(until_idle=True, handle_signals=False)

    assert await handle.result() == given
    (ran,) = named(spans, "run note")
    assert format(ran.context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"


async def test_without_an_sdk_nothing_is_written_to_the_job(app: Holdfast) -> None:
    @app.task()
    async def note(ctx: Context) -> str | None:
        return ctx.trace_parent

    handle = await note.aenqueue()
    await app.run_worker(until_idle=True, handle_signals=False)

    assert await handle.result() is None


async def test_of_an_error_in_a_step_its_span_has_the_class_and_no_word(
    app: Holdfast, spans: InMemorySpanExporter
) -> None:
    def receipt(card: str) -> None:
        raise ValueError(f"{card} refused")

    @app.task(retries=0, redact=["card"])
    async def charge(ctx: Context, card: str) -> None:
        await ctx.step("receipt", receipt, card)

    await charge.aenqueue("4111-1111")
    await app.run_worker(until_idle=True, handle_signals=False)

    (step,) = named(spans, "step receipt")
    assert (step.status.status_code, step.status.description) == (trace.StatusCode.ERROR, "ValueError")
    assert "4111" not in "".join(span.to_json() for span in spans.get_finished_spans())
