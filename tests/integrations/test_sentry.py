"""What Sentry's own client would send: one event a failed attempt, with the job's name on it."""

import asyncio
import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from pydantic import SecretStr
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.transport import Transport

from holdfast import Cancel, Context, Fail, Holdfast, Retry, SyncContext
from holdfast.contrib.sentry import report_failures
from world.draining import drain


class InMemory(Transport):
    """Keeps what would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        event = envelope.get_event()
        if event is not None:
            self.events.append(event)


@pytest.fixture
def sent(app: Holdfast) -> Iterator[list[Any]]:
    transport = InMemory()
    sentry_sdk.init(
        dsn="https://key@sentry.example/1",
        transport=transport,
        default_integrations=False,  # others change Python for the rest of the process
        integrations=[LoggingIntegration()],
    )
    report_failures(app)
    yield transport.events
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


def kinds(sent: list[Any]) -> list[str]:
    return [event["exception"]["values"][-1]["type"] for event in sent]


def test_a_failed_attempt_is_reported_with_its_job(app: Holdfast, sent: list[Any]) -> None:
    @app.task(retries=1, backoff=0)
    def charge(ctx: SyncContext, order: int) -> None:
        sentry_sdk.add_breadcrumb(message=f"order {order}")
        if ctx.attempt == 1:
            raise LookupError("no such card")

    handle = charge.using(tenant="acme", subject="order:7").enqueue(7)
    drain(app)

    (event,) = sent
    assert kinds(sent) == ["LookupError"]
    assert event["transaction"] == "charge"
    assert event["tags"] == {
        "holdfast.task": "charge",
        "holdfast.job_id": str(handle.id),
        "holdfast.tenant": "acme",
    }
    assert event["contexts"]["holdfast"] == {"attempt": 1, "retries": 0, "subject": "order:7"}
    assert "order 7" in [crumb["message"] for crumb in event["breadcrumbs"]["values"]]


def test_a_report_says_nothing_that_the_task_redacts(app: Holdfast, sent: list[Any]) -> None:
    @app.task(retries=0, redact=["card"])
    def charge(card: str, token: SecretStr) -> None:
        words = [card, token.get_secret_value()]
        sentry_sdk.add_breadcrumb(message=f"charging {words}", data={"words": words})
        logging.getLogger("shop").warning("charging %s", words)
        raise LookupError(f"no such card as {words}")

    secrets = ["-".join([part] * 2) for part in ("4111", "live")]  # lines of source are a part of reports
    charge.enqueue(secrets[0], SecretStr(secrets[1]))
    drain(app)

    (event,) = sent
    assert event["exception"]["values"][0]["value"] == "no such card as ['[redacted]', '[redacted]']"
    assert [word for word in secrets if word in repr(event)] == []


def test_every_failed_attempt_is_reported_once(app: Holdfast, sent: list[Any]) -> None:
    @app.task(retries=2, backoff=0)
    async def charge() -> None:
        raise LookupError

    @app.task(retries=0)
    def as_djangos_tasks_do() -> None:
        try:
            os.environ["NO_SUCH_VARIABLE"]
        except KeyError:
            logging.getLogger("django_tasks").exception("state=FAILED")
            raise

    charge.enqueue()
    as_djangos_tasks_do.enqueue()
    drain(app)

    assert sorted(kinds(sent)) == ["KeyError", *["LookupError"] * 3]


def test_what_tasks_say_on_purpose_is_no_error_unless_the_job_fails_by_it(
    app: Holdfast, sent: list[Any]
) -> None:
    @app.task()
    async def gives_up() -> None:
        raise Cancel("nothing to do")

    @app.task(retries=1, backoff=0)
    async def asks_again() -> None:
        raise Retry("not ready")

    @app.task(retries=1)
    async def refuses() -> None:
        raise Fail("no such order")

    @app.task()
    async def is_cancelled(ctx: Context) -> None:
        await app.acancel(ctx.job_id)
        await asyncio.Event().wait()

    gives_up.enqueue()
    is_cancelled.enqueue()
    drain(app)
    assert kinds(sent) == []

    asks_again.enqueue()
    refuses.enqueue()
    drain(app)

    assert sorted(kinds(sent)) == ["Fail", "Retry"]


def test_nothing_of_one_job_is_told_with_another(app: Holdfast, sent: list[Any]) -> None:
    @app.task(retries=0)
    def charge(order: int) -> None:
        sentry_sdk.set_tag("order", order)
        raise LookupError

    charge.enqueue(1)
    drain(app)
    sentry_sdk.capture_message("outside")

    assert sent[0]["tags"]["order"] == 1
    assert "tags" not in sent[1]
