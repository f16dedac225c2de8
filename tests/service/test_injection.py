"""P4: SQL in every parameter of every door. A sequence tells on it: what was counted stays counted, whatever is rolled back."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.interfaces.http.operation import Operation
from holdfast.runtime.access import create_key
from holdfast.server import Stripe
from holdfast.testing import TestServer
from service.senders import SECRET, event, stripe
from service.streams import streaming
from service.threads import answering
from world.often import LONG, times

TOLD = "nextval('public.told_on')"
# Each leaves another place that text could stand in: a literal, a number, a name, a list, a comment, a path, a pattern.
ENDINGS = [
    "' || {}::text || '", "'; select {}; --", "' or {} > 0 --", "') or {} > 0 --", "')) union select {}::text --",
    "1; select {}", "1 + {}", "(select {})", '"; select {}; --', '" || {}::text || "', "$$ || {}::text || $$", "$q$; select {}; --",
    "\\'; select {}; --", "*/ select {} /*", "x' order by (select {}) --", "id, (select {})", "{{{}}}", "x%' or {} > 0 or 'a' like '%",
    "\u02bc; select {}; --", "%27; select {}; --", "E'\\x27; select {}; --", "task:x' or {} > 0 or '1'='1", "payload.a':'1' or {} > 0 --",
    "payload.x'->>(select {}) :1", "status:failed' or {} > 0 --", "* or {} > 0", "x' returning {} --", "'::regclass; select {} --",
]  # fmt: skip
PAYLOADS = [ending.format(TOLD) for ending in ENDINGS]

# What makes sense in a body, so that what is wrong with it is only what a test puts there.
SENSIBLE: dict[str, Any] = {
    "task": "greet", "payload": {"name": "Ann"}, "action": "cancel", "q": "task:nobody", "decision": "approve", "reason": "because",
    "jobs": [{"task": "greet", "payload": {"name": "Ann"}}], "limit": 3, "scopes": ["read"], "enabled": True, "every": 3600,
    "tenant": "acme", "period": "day", "measure": "enqueued", "hard": 1000,
}  # fmt: skip
LISTS_AND_OBJECTS = {"payload", "metadata", "tags", "jobs", "scopes", "after"}


@dataclass
class Target:
    """A service that tells when SQL of somebody else is run in it."""

    app: Holdfast
    owner: psycopg.Connection[Any]
    key: str
    _turn: Iterator[int] = field(default_factory=count)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def was_told(self) -> bool:
        """Whether anything was run."""
        return bool(self.owner.execute("select is_called from public.told_on").fetchall()[0][0])

    def payloads(self, number: int) -> list[str]:
        """Give so many of the payloads, other ones every time, so that all have their turn."""
        return [PAYLOADS[next(self._turn) % len(PAYLOADS)] for _ in range(number)]


@pytest.fixture(scope="module")
def target(holdfast_server: TestServer) -> Iterator[Target]:
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as owner,
    ):
        owner.execute(
            "create sequence public.told_on; grant usage on schema public to public; grant all on public.told_on to public"
        )
        app = database.use(Holdfast())

        @app.task(flag="greeting")
        async def greet(name: str) -> str:
            return name

        async def handle(_event: Any, _conn: Any) -> None: ...

        app.webhook("stripe", verify=Stripe(SECRET), on={"*": handle})
        greet.enqueue("first")
        yield Target(app, owner, create_key(app, "attack", scopes=[Scope.ADMIN]))
        app.close()


@pytest.fixture
async def client(target: Target) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(asgi(target.app))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client
    await target.app.link.aclose()


def test_the_sequence_tells(target: Target) -> None:
    """The control: what these payloads would do, were any of them run."""
    with target.owner.transaction(force_rollback=True):
        target.owner.execute("select '" + PAYLOADS[0] + "'")
    assert target.was_told()
    target.owner.execute("alter sequence public.told_on restart")
    assert not target.was_told()


def requests_of(operation: Operation, payloads: Iterator[str], number: int) -> Iterator[tuple[str, Any]]:
    """Give paths and bodies with a payload in each place in turn."""
    some = {name: str(uuid4()) if kind is UUID else "x" for name, kind in operation.parameters.items()}
    body = _body(operation)
    for name in operation.parameters:
        for _ in range(number):
            yield _path(operation, {**some, name: next(payloads)}), body
    for name in operation.query.model_fields if operation.query is not None else ():
        for _ in range(number):
            given = {"action": "cancel"} if "action" in operation.query.model_fields else {}  # type: ignore[union-attr]
            yield f"{_path(operation, some)}?{urlencode({**given, name: next(payloads)})}", body
    for name in operation.body.model_fields if operation.body is not None else ():
        for _ in range(number):
            payload = next(payloads)
            for value in _places(name, payload):
                yield _path(operation, some), {**(body or {}), name: value}


def _body(operation: Operation) -> dict[str, Any] | None:
    if operation.body is None:
        return None
    fields = operation.body.model_fields
    given = {name: SENSIBLE.get(name, "x") for name, about in fields.items() if about.is_required()}
    return {**given, **({"every": 3600, "payload": {"name": "Ann"}} if "cron" in fields else {})}


def _path(operation: Operation, parameters: dict[str, str]) -> str:
    written = {name: quote(value, safe="") for name, value in parameters.items()}
    return "/api/v1" + operation.path.format(**written)


def _places(name: str, payload: str) -> list[Any]:
    """Give the shapes in which a payload can stand in a field."""
    if name == "jobs":
        job = {"task": "greet", "payload": {"name": "Ann"}}
        return [[{**job, "task": payload}], [{**job, "key": payload}], [{**job, "tags": [payload]}]]
    if name in LISTS_AND_OBJECTS:
        return [payload, [payload], {payload: payload}, {"name": payload}]
    return [payload]


@pytest.mark.parametrize("operation", all_operations(), ids=lambda one: f"{one.method} {one.path}")
async def test_no_operation_runs_what_stands_in_a_parameter(
    target: Target, client: httpx.AsyncClient, operation: Operation
) -> None:
    number = times(1, len(PAYLOADS))
    payloads = iter(target.payloads(10_000))

    for path, body in requests_of(operation, payloads, number):
        answer = await client.request(operation.method, path, json=body, headers=target.headers)
        assert answer.status_code < 500, (path, body, answer.text)

    assert not target.was_told()


async def test_no_header_is_run(target: Target, client: httpx.AsyncClient) -> None:
    job = {"task": "greet", "payload": {"name": "Ann"}}
    for payload in filter(str.isascii, PAYLOADS):
        answers = [
            await client.post(
                "/api/v1/jobs", json=job, headers={**target.headers, "Idempotency-Key": payload}
            ),
            await client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {payload}"}),
            await client.get("/api/v1/jobs", headers={"Cookie": f"__Host-holdfast={quote(payload)}"}),
            await client.post(
                f"/api/v1/approvals/{uuid4()}/decide",
                json={"decision": "approve"},
                headers={**target.headers, "If-Match": f'"{payload}"'},
            ),
        ]
        assert [answer.status_code for answer in answers if answer.status_code >= 500] == [], payload

    assert not target.was_told()


async def test_no_form_and_no_webhook_is_run(target: Target, client: httpx.AsyncClient) -> None:
    own_page = {"Sec-Fetch-Site": "same-origin", "Origin": "https://test"}
    for number, payload in enumerate(PAYLOADS):
        bodies = [
            event(f"{number}{payload}"),
            event(f"evt_{number}", payload),
            event("x", a={payload: payload}),
        ]
        answers = [
            await client.post("/webhooks/v1/stripe", content=body, headers=stripe(body)) for body in bodies
        ]
        answers.append(await client.post(f"/a/{uuid4()}", data={"code": "hfa_" + payload}, headers=own_page))
        answers.append(await client.post(f"/webhooks/v1/{quote(payload, safe='')}", content=b"{}"))
        if number < times(3, len(PAYLOADS)):  # passwords are slow on purpose
            form = {"name": payload, "password": payload, "next": payload}
            answers.append(await client.post("/login", data=form, headers=own_page))
        assert [answer.text for answer in answers if answer.status_code >= 500] == [], payload

    assert not target.was_told()


async def test_no_stream_runs_what_it_follows(target: Target) -> None:
    names = ("subject", "tenant", "job", "after")
    with answering(asgi(target.app)) as url:

        async def follow(name: str, payload: str) -> int:
            path = f"/api/v1/events?{urlencode({name: payload})}"
            async with streaming(url, path, key=target.key) as stream:
                return stream.status

        asked = [follow(name, payload) for payload in PAYLOADS for name in names]
        answers = await asyncio.gather(*asked)

    assert {status for status in answers if status >= 500} == set()
    assert answers.count(200) == 2 * len(PAYLOADS)
    assert not target.was_told()


# -- sqlmap, which is installed by scripts/attacks ---------------------------------------------------------------------------

if LONG:
    SQLMAP = Path(__file__).parents[2] / ".attacks" / "sqlmap" / "sqlmap.py"

    @pytest.mark.parametrize(
        "operation",
        [one for one in all_operations() if one.query or one.body or str in one.parameters.values()],
        ids=lambda one: f"{one.method} {one.path}",
    )
    def test_sqlmap_finds_nothing(target: Target, operation: Operation, tmp_path: Path) -> None:
        if not SQLMAP.exists():
            pytest.skip("NOT RUN: sqlmap is not installed; scripts/attacks installs it")
        path, data = _marked(operation)
        with answering(asgi(target.app)) as url:
            command = [sys.executable, str(SQLMAP), "-u", url + path, "--method", operation.method]
            command += ["-H", f"Authorization: Bearer {target.key}", "-H", "Content-Type: application/json"]
            command += ["--data", data] if data else []
            command += [
                "--batch",
                "--dbms",
                "postgresql",
                "--level",
                "3",
                "--risk",
                "3",
                "--technique",
                "BEUST",
            ]
            command += [
                "--time-sec",
                "2",
                "--ignore-code",
                "*",
                "--skip-waf",
                "--flush-session",
                "--disable-coloring",
            ]
            ran = subprocess.run(
                [*command, "--output-dir", str(tmp_path)], capture_output=True, text=True, check=False
            )

        assert "do not appear to be injectable" in ran.stdout, ran.stdout[-3000:]
        assert "is vulnerable" not in ran.stdout
        assert not target.was_told()

    def _marked(operation: Operation) -> tuple[str, str | None]:
        """Write a request of an operation with sqlmap's mark at every place."""
        import json

        path = operation.path.format(**dict.fromkeys(operation.parameters, "x*"))
        query = [f"{name}=1*" for name in operation.query.model_fields] if operation.query else []
        body = None
        if operation.body is not None:
            fields = operation.body.model_fields
            written = {
                **{name: "x" for name in fields if name not in LISTS_AND_OBJECTS},
                **(_body(operation) or {}),
            }
            body = json.dumps({n: f"{v}*" if isinstance(v, str) else v for n, v in written.items()})
        return f"/api/v1{path}" + (f"?{'&'.join(query)}" if query else ""), body
