"""P11: whatever a stranger writes into a field, the log has one line an event, and none of it speaks to a terminal."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Self
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from holdfast import Holdfast, HttpExecutor
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import create_key
from holdfast.runtime.logs import JsonFormatter, TextFormatter
from holdfast.server import Stripe, WebhookEvent
from service.house import House, log_in, settings
from service.senders import SECRET, event, stripe
from world.often import times

FORGED = "12:00:00 info    job.completed job_id=forged"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
SPEECH = ["\x1b[2J\x1b[1;1H", "\x1b]0;title\x07", "\x9b31m", "\x08" * 20, "\x7f", "\u202e"]
ODD = [f"a{each}{FORGED}" for each in BREAKS] + [f"a{each}b" for each in SPEECH]


class Counting(logging.Handler):
    """Counts events."""

    records = 0

    def emit(self, _record: logging.LogRecord) -> None:
        self.records += 1


class Lines:
    """What both kinds of log have said."""

    def __init__(self) -> None:
        self.text, self.json = io.StringIO(), io.StringIO()
        self._counting = Counting()
        self._handlers: list[logging.Handler] = [
            _handler(self.text, TextFormatter()),
            _handler(self.json, JsonFormatter()),
            self._counting,
        ]

    def __enter__(self) -> Self:
        logger = logging.getLogger("holdfast")
        self._before = logger.level
        logger.setLevel(logging.DEBUG)
        for handler in self._handlers:
            logger.addHandler(handler)
        return self

    def __exit__(self, *_error: object) -> None:
        logger = logging.getLogger("holdfast")
        logger.setLevel(self._before)
        for handler in self._handlers:
            logger.removeHandler(handler)

    def check(self, at_least: int) -> None:
        assert self._counting.records >= at_least
        lines = self.json.getvalue().removesuffix("\n").split("\n")
        assert len(lines) == self._counting.records
        assert all(json.loads(line)["event"] for line in lines)
        for line in self.text.getvalue().removesuffix("\n").split("\n"):
            assert line.isprintable(), line
            assert not line.startswith(FORGED[:8]), line
        # What an error says stands under its event, set in.
        events = [line for line in self.text.getvalue().split("\n") if line and not line.startswith("  ")]
        assert len(events) == self._counting.records


def _handler(stream: io.StringIO, formatter: logging.Formatter) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    return handler


@pytest.fixture
def lines() -> Iterator[Lines]:
    with Lines() as lines:
        yield lines


async def test_no_field_of_a_request_makes_a_line_of_its_own(house: House, lines: Lines) -> None:
    app, numbers = house.app, iter(range(10**6))

    async def broken(given: WebhookEvent, _conn: object) -> None:
        raise ValueError(given.body["data"]["object"]["say"])

    app.webhook(f"door{uuid4().hex}", verify=Stripe(SECRET), on={"*": broken})
    (endpoint,) = [name for name in app.webhooks if name.startswith("door")]
    app.executor(
        HttpExecutor("https://ci.example", name=f"ci-{uuid4().hex}", secret="hfx_" + "4b1d97c02ea8f653" * 4)
    )
    key = create_key(app, f"logs-{uuid4()}", scopes=[Scope.ADMIN])
    headers = {"Authorization": f"Bearer {key}"}
    said = 0
    async with house.browser(
        headers={"Sec-Fetch-Site": "same-origin", "Origin": "https://jobs.test"}
    ) as client:
        for odd in ODD * times(1, 7):
            # Its handler fails with what the sender wrote: the log has the event, and the error under it.
            body = event(f"evt_{next(numbers)}", say=odd)
            failed = await client.post(f"/webhooks/v1/{endpoint}", content=body, headers=stripe(body))
            assert failed.status_code == 500
            named = event(odd, odd)
            await client.post(f"/webhooks/v1/{endpoint}", content=named, headers=stripe(named))
            refused = await client.post(f"/webhooks/v1/{quote(odd, safe='')}", content=b"{}")
            assert refused.status_code == 401
            said += 2
            await client.post(f"/callbacks/v1/{quote(odd, safe='')}/x/1/y", content=b"{}")
            await client.get(f"/api/v1/jobs/{quote(odd, safe='')}", headers=headers)
            await client.get("/api/v1/jobs", params={"q": odd}, headers=headers)
            job = {"task": odd, "payload": {odd: odd}, "label": odd, "subject": odd, "tenant": odd}
            await client.post("/api/v1/jobs", json=job, headers={**headers, "User-Agent": "odd"})
            await client.post(
                f"/api/v1/queues/{quote(odd, safe='')}/pause", json={"reason": odd}, headers=headers
            )
        await log_in(client, ODD[0])

    lines.check(at_least=said)


async def test_an_error_of_ours_says_it_on_lines_of_its_own(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.interfaces.http import serve

    app = Holdfast("postgresql://nobody@127.0.0.1:1/nothing")

    def broken(*_given: object) -> None:
        raise RuntimeError(f"\n{FORGED}\x1b[2J")

    monkeypatch.setattr(serve.Endpoint, "_answer", broken)
    transport = httpx.ASGITransport(asgi(app, ["api"], settings=settings()))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/api/v1/jobs")

    assert answer.status_code == 500
    lines.check(at_least=1)
