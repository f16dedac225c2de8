"""What a task redacts is read by its task, and by nobody who looks at its jobs."""

import base64
import logging
import secrets
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from holdfast import Context, Holdfast, Keys, SyncContext
from holdfast.domain.search import parse
from holdfast.runtime.logs import JsonFormatter, TextFormatter
from holdfast.store.inspect import attempts, find_job, history
from holdfast.store.search import find_jobs
from holdfast.testing import ScratchDatabase
from service.conftest import Calling
from world.draining import drain

NUMBER = "4111-1111-1111-1111"
_log = logging.getLogger(__name__)


@pytest.fixture
def shop(holdfast_db: ScratchDatabase) -> Iterator[Holdfast]:
    """Give an app with a task that hides a number and tells it all the same."""
    app = holdfast_db.use(Holdfast())

    @app.task(redact=["card.number"], retries=0)
    async def pay(card: dict[str, str], refuse: bool) -> dict[str, dict[str, str]]:
        _log.warning("charging %s", card["number"])
        if refuse:
            raise ValueError(f"card {card['number']} refused")
        return {"card": card}

    yield app
    app.close()


@pytest.mark.parametrize("refuse", [True, False], ids=["failed", "completed"])
async def test_a_hidden_field_is_seen_by_its_task_and_in_no_view_error_log_or_event(
    shop: Holdfast, calling: Calling, owner: psycopg.Connection, refuse: bool
) -> None:
    job = shop.tasks["pay"].using(subject="order").enqueue({"number": NUMBER, "owner": "Ann"}, refuse)
    await shop.run_worker(until_idle=True, handle_signals=False, poll=0.05)

    async with calling("read") as client:
        shown = await client.get(f"/api/v1/jobs/{job.id}")
    calls: list[Any] = [find_jobs(parse("")), history(job.id), attempts(job.id), find_job(job.id)]
    seen = [shown.text, *[repr(await shop.link.aperform(call)) for call in calls]]
    kept = [
        row[0]
        for table in ("attempt", "job_history", "feed", "activity", "audit")
        for row in owner.execute(f"select t::text from holdfast.{table} t").fetchall()
    ]
    await shop.link.aclose()

    assert shown.json()["payload"]["card"] == {"number": "[redacted]", "owner": "Ann"}
    assert shown.json()["status"] == ("FAILED" if refuse else "COMPLETED")
    assert not [text for text in [*seen, *kept] if NUMBER in text]
    assert any("charging [redacted]" in text for text in kept)
    stored = owner.execute(
        "select payload -> 'card' ->> 'number' from holdfast.job where task = 'pay'"
    ).fetchone()
    assert stored == (NUMBER,)


async def test_what_is_hidden_cannot_be_searched_for_either(shop: Holdfast, calling: Calling) -> None:
    shop.tasks["pay"].enqueue({"number": NUMBER, "owner": "Ann"}, refuse=True)

    async with calling("read") as client:
        found = {
            q: len((await client.get("/api/v1/jobs", params={"q": q})).json()["items"])
            for q in (
                "payload.refuse:true",
                f"payload.card.number:{NUMBER}",
                "payload.card.owner:Ann",
                NUMBER,
            )
        }

    assert list(found.values()) == [1, 0, 0, 0]


async def test_the_payload_of_a_schedule_hides_what_its_jobs_hide(shop: Holdfast, calling: Calling) -> None:
    pay = shop.tasks["pay"]
    shop.schedules.create(
        "monthly", pay, every=timedelta(days=30), payload={"card": {"number": NUMBER}, "refuse": False}
    )

    async with calling("read") as client:
        shown = await client.get("/api/v1/schedules/monthly")

    assert shown.json()["payload"] == {"card": {"number": "[redacted]"}, "refuse": False}
    assert NUMBER not in repr(shop.schedules.list())


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()], ids=["json", "text"])
def test_lines_of_the_process_hide_it_too_while_the_task_runs(
    shop: Holdfast, owner: psycopg.Connection, formatter: logging.Formatter
) -> None:
    lines = []

    @shop.task(redact=["pin"], retries=0)
    def unlock(ctx: SyncContext, pin: str) -> None:
        ctx.progress(1, note=f"trying {pin}")
        try:
            int(pin)
        except ValueError:
            told = _log.makeRecord(
                "x", logging.ERROR, "f", 1, "no %s", (pin,), sys.exc_info(), None, {"pin": pin}
            )
            lines.append(formatter.format(told))

    unlock.enqueue("9876-5432")
    drain(shop)

    (note,) = owner.execute("select note from holdfast.progress").fetchone()  # type: ignore[misc]
    assert "9876" not in lines[0] + note
    assert lines[0].count("[redacted]") == 3


async def test_a_key_that_was_made_of_a_hidden_value_gives_no_hint_of_it(
    shop: Holdfast, calling: Calling
) -> None:
    @shop.task(redact=["pin"], unique=True)
    async def unlock(pin: str) -> None: ...

    job = unlock.enqueue("1234")

    async with calling("read") as client:
        shown = await client.get(f"/api/v1/jobs/{job.id}")

    assert shown.json()["key"] == "payload:[redacted]"


async def test_a_secret_reaches_its_task_and_is_encrypted_where_the_app_encrypts(
    shop: Holdfast, calling: Calling, owner: psycopg.Connection
) -> None:
    shop.encryption = Keys({"2026": base64.b64encode(secrets.token_bytes(32)).decode()})
    got = []

    @shop.task(retries=0)
    async def send(ctx: Context, token: SecretStr) -> dict[str, str]:
        got.append(token)
        await ctx.progress(1, note=f"with {token.get_secret_value()}")
        return {"token": token.get_secret_value()}

    job = send.enqueue(SecretStr(NUMBER))
    await shop.run_worker(until_idle=True, handle_signals=False, poll=0.05)

    async with calling("read") as client:
        shown = await client.get(f"/api/v1/jobs/{job.id}")
    stored = owner.execute(
        "select j.payload::text, p.note from holdfast.job j join holdfast.progress p on p.job_id = j.id"
    ).fetchall()
    assert got == [SecretStr(NUMBER)]
    assert shown.json()["result"] == {"token": "[redacted]"}
    assert NUMBER not in shown.text + repr(stored)
    assert stored[0][1] == "with [redacted]"


def test_a_host_that_runs_the_job_itself_scrubs_its_failure_too(
    shop: Holdfast, owner: psycopg.Connection
) -> None:
    shop.tasks["pay"].enqueue({"number": NUMBER}, refuse=True)
    (claimed,) = shop.claim()
    claimed.fail(f"no way with {NUMBER}", recoverable=False)

    assert owner.execute("select error ->> 'message' from holdfast.job").fetchone() == (
        "no way with [redacted]",
    )
    drain(shop)
