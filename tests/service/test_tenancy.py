"""Every operation of the API, called by everybody: the own tenant, another, nobody, each scope."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.runtime.access import create_key
from holdfast.server import SharedSecret
from holdfast.testing import ScratchDatabase, TestServer
from sql.asking import ask
from sql.support import Machine

ALL = {operation.name: operation for operation in all_operations()}
# Stands in everything that globex has: no answer to anybody else may contain it.
SECRET = "belongs-to-globex"


class Things:
    """What a tenant has, made when a request needs it."""

    def __init__(self, service: "Service", tenant: str) -> None:
        self._service = service
        self._machine = service.machine
        self.tenant: str = tenant
        self.word = SECRET if tenant == "globex" else tenant
        self._given: dict[str, Any] = {"tenant": tenant, "subject": self.word, "label": self.word}

    @cached_property
    def job(self) -> UUID:
        """A job in line."""
        return self._machine.enqueue("greet", {"name": self.word}, **self._given)

    @cached_property
    def failed(self) -> UUID:
        """A job that a person may retry."""
        return self._machine.job_in(Status.FAILED, "greet", **self._given)

    @cached_property
    def approval(self) -> UUID:
        """What one of its jobs asks."""
        queue = f"asking {uuid4()}"  # so that the claim takes no other
        worker = self._machine.worker()
        self._machine.enqueue("refund", queue=queue, **self._given)
        (claimed,) = self._machine.claim(worker, queue=queue, tasks=("refund",))
        asked: UUID = ask(self._machine, claimed, question=self.word, approvers=[])["approval_id"]
        return asked

    @cached_property
    def operation(self) -> UUID:
        """Something done to many of its jobs."""
        made = self._machine.value("select holdfast.new_id()")
        self._machine.run(
            "select holdfast.create_operation(%s, %s, 'cancel', %s, 'ann', null, %s, %s)",
            made, self.tenant, self.word, [self.job], Jsonb([{"name": "holdfast.bulk"}]),
        )  # fmt: skip
        return UUID(str(made))

    @cached_property
    def delivery(self) -> UUID:
        """Something that another system told it."""
        made: UUID = self._machine.value(
            "insert into holdfast.webhook_delivery (id, endpoint, event_id, type, tenant, status, body)"
            " values (holdfast.new_id(), 'shop', gen_random_uuid()::text, %s, %s, 'handled', '{}') returning id",
            self.word, self.tenant,
        )  # fmt: skip
        return made

    @cached_property
    def key(self) -> str:
        """The id of a key of its own."""
        made = create_key(
            self._service.app, f"{self.word} {uuid4()}", scopes=[Scope.READ], tenant=self.tenant
        )
        return made.split("_")[1]


class Strange(Things):
    """What nobody has."""

    job = failed = approval = operation = delivery = cast("Any", property(lambda _self: uuid4()))
    key = cast("Any", property(lambda _self: "nokeynokeyno"))


@dataclass(frozen=True)
class Case:
    """How an operation is called about somebody's things."""

    path: Callable[[Things], dict[str, Any]] = lambda _things: {}
    query: Callable[[Things], dict[str, Any]] = lambda _things: {}
    body: Callable[[Things], dict[str, Any]] = lambda _things: {}

    @property
    def names_things(self) -> bool:
        """Whether it is about one tenant's things, so that another's are not found."""
        return self.path(_NOTHING) != {}


_KINDS = ("job", "failed", "approval", "operation", "delivery", "key")
_NOTHING = cast("Things", SimpleNamespace(**dict.fromkeys(_KINDS, "x")))
_JOB = Case(lambda things: {"job_id": things.job})
_OPERATION = Case(lambda things: {"operation_id": things.operation})
_DELIVERY = Case(lambda things: {"delivery_id": things.delivery})
_KEY = Case(lambda things: {"key_id": things.key})
_NEW_JOB = {"task": "greet", "payload": {"name": "x"}}
# What is everybody's: only callers that are bound to no tenant get there at all.
_QUEUE, _TASK, _FLAG, _RULE = ({"name": name} for name in ("default", "greet", "flag", "rule"))
_SCHEDULE = {"name": "schedule"}


def _everybodys(path: dict[str, Any] | None = None, **body: Any) -> Case:
    return Case(lambda _things: path or {}, body=lambda _things: body)


# A new operation without a line here fails.
CASES: dict[str, Case] = {
    "enqueue_job": Case(body=lambda _: _NEW_JOB),
    "enqueue_jobs": Case(body=lambda _: {"jobs": [_NEW_JOB]}),
    "list_jobs": Case(),
    "show_job": _JOB,
    "list_history": _JOB,
    "list_attempts": _JOB,
    "list_steps": _JOB,
    "wait_for_job": Case(lambda things: {"job_id": things.failed}),
    "cancel_job": _JOB,
    "retry_job": Case(lambda things: {"job_id": things.failed}),
    "preview_operation": Case(query=lambda things: {"action": "cancel", "q": f"id:{things.job}"}),
    "create_operation": Case(body=lambda things: {"action": "cancel", "q": f"id:{things.job}"}),
    "list_operations": Case(),
    "show_operation": _OPERATION,
    "list_skipped": _OPERATION,
    "cancel_operation": _OPERATION,
    "list_approvals": Case(),
    "show_approval": Case(lambda things: {"approval_id": things.approval}),
    "decide_approval": Case(
        lambda things: {"approval_id": things.approval}, body=lambda _: {"decision": "deny", "reason": "no"}
    ),
    "list_usage": Case(),
    "list_quotas": Case(),
    "show_deliveries": Case(),
    "show_delivery": _DELIVERY,
    "replay_delivery": _DELIVERY,
    "list_actions": Case(),
    "list_keys": Case(),
    "show_key": _KEY,
    "create_key": Case(body=lambda things: {"name": f"{things.tenant} {uuid4()}", "scopes": ["read"]}),
    "rotate_key": _KEY,
    "revoke_key": _KEY,
    "list_queues": _everybodys(),
    "show_queue": _everybodys(_QUEUE),
    "pause_queue": _everybodys(_QUEUE),
    "resume_queue": _everybodys(_QUEUE),
    "limit_queue": _everybodys(_QUEUE, limit=None),
    "list_tasks": _everybodys(),
    "pause_task": _everybodys(_TASK),
    "resume_task": _everybodys(_TASK),
    "list_workers": _everybodys(),
    "list_schedules": _everybodys(),
    "show_schedule": _everybodys(_SCHEDULE),
    "next_times": _everybodys(_SCHEDULE),
    "list_runs": _everybodys(_SCHEDULE),
    "create_schedule": Case(body=lambda _: {"name": str(uuid4()), "task": "greet", "every": 3600.0}),
    "run_schedule": _everybodys(_SCHEDULE),
    "pause_schedule": _everybodys(_SCHEDULE),
    "resume_schedule": _everybodys(_SCHEDULE),
    "delete_schedule": _everybodys(_SCHEDULE),
    "set_quota": _everybodys(tenant="acme", period="day", hard=1000000.0),
    "show_statistics": _everybodys(),
    "list_flags": _everybodys(),
    "set_flag": _everybodys(_FLAG, enabled=True),
    "list_alerts": _everybodys(),
    "mute_rule": _everybodys(_RULE),
    "unmute_rule": _everybodys(_RULE),
}


class Service:
    """An app's service, and keys to call it with."""

    def __init__(self, database: ScratchDatabase, machine: Machine) -> None:
        self.app = database.use(Holdfast())
        self.machine = machine

        async def handle(_event: Any, _conn: Any) -> None: ...

        self.app.webhook("shop", verify=SharedSecret(secrets.token_urlsafe(32)), on={"*": handle})
        machine.register("greet", "refund")
        machine.run("select holdfast.set_flag('flag', true)")
        machine.run(
            'select holdfast.register_alerts(\'a\', \'[]\', \'[{"name": "rule", "kind": "job_failed",'
            ' "severity": "info", "channels": []}]\')'
        )
        self._keys: dict[tuple[str | None, tuple[Scope, ...]], str] = {}

    def things(self, tenant: str) -> Things:
        """Give a tenant something of everything; what is everybody's is there, too."""
        schedule = {"name": "schedule", "task": "greet", "every": 3600, "payload": {"name": "x"}}
        self.machine.run("select holdfast.create_schedule(%s)", Jsonb(schedule))
        return Things(self, tenant)

    def key(self, tenant: str | None, *scopes: Scope) -> str:
        """Give a key of this tenant with these scopes."""
        if (tenant, scopes) not in self._keys:
            name = " ".join(["test", *scopes])
            self._keys[tenant, scopes] = create_key(self.app, name, scopes=scopes, tenant=tenant)
        return self._keys[tenant, scopes]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client without a key."""
        transport = httpx.ASGITransport(asgi(self.app))
        async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
            yield client
        await self.app.link.aclose()


async def call(client: httpx.AsyncClient, name: str, things: Things, key: str | None) -> httpx.Response:
    """Call an operation about these things."""
    operation, case = ALL[name], CASES[name]
    return await client.request(
        operation.method,
        operation.path.format(**case.path(things)),
        params=case.query(things),
        json=case.body(things) if operation.body is not None else None,
        headers={"Authorization": f"Bearer {key}"} if key else {},
    )


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("urn:holdfast:problem:")


@pytest.fixture(scope="module")
def database(holdfast_server: TestServer) -> Iterator[ScratchDatabase]:
    """Give one database for all of them."""
    with holdfast_server.database() as database:
        yield database


@pytest.fixture(scope="module")
def service(database: ScratchDatabase) -> Iterator[Service]:
    """Give one service for all of them."""
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        yield Service(database, Machine(owner))


def test_every_operation_says_here_how_it_is_called() -> None:
    assert sorted(CASES) == sorted(ALL)


@pytest.mark.parametrize("name", sorted(CASES))
async def test_a_tenants_own_key_reaches_its_own_and_no_answer_shows_anothers(
    service: Service, name: str
) -> None:
    own, foreign = service.things("acme"), service.things("globex")
    for kind in _KINDS:
        getattr(foreign, kind)

    async with service.client() as client:
        answer = await call(client, name, own, service.key("acme", Scope.ADMIN))

    if ALL[name].for_all:
        assert problem(answer) == (403, "forbidden")
    else:
        assert answer.status_code == ALL[name].status, answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "name", sorted(name for name, case in CASES.items() if case.names_things and not ALL[name].for_all)
)
async def test_another_tenants_things_are_not_there_and_stay_as_they_are(service: Service, name: str) -> None:
    foreign = service.things("globex")
    key = service.key("acme", Scope.ADMIN)
    CASES[name].path(foreign)
    before = everything_of_globex(service.machine)

    async with service.client() as client:
        answer = await call(client, name, foreign, key)
        unknown = await call(client, name, Strange(service, "globex"), key)

    assert problem(answer) == problem(unknown) == (404, "not-found")
    assert SECRET not in answer.text
    assert everything_of_globex(service.machine) == before


def everything_of_globex(machine: Machine) -> list[Any]:
    """Read all rows of globex in all tables that say whose a row is."""
    return [
        machine.rows(f"select t::text from holdfast.{table} t where t.tenant = 'globex' order by 1")
        for table in ("job", "operation", "webhook_delivery", "api_key", "audit")
    ] + [machine.rows("select a::text from holdfast.approval a order by 1")]


@pytest.mark.parametrize("name", sorted(CASES))
async def test_nobody_without_a_key_gets_an_answer(service: Service, name: str) -> None:
    async with service.client() as client:
        answer = await call(client, name, service.things("acme"), None)

    assert problem(answer) == (401, "unauthorized")


@pytest.mark.parametrize("name", sorted(CASES))
async def test_each_scope_opens_the_operations_that_name_it(service: Service, name: str) -> None:
    operation = ALL[name]
    for scope in Scope:
        async with service.client() as client:
            answer = await call(client, name, service.things("acme"), service.key(None, scope))

        if scope in {operation.scope, Scope.ADMIN}:
            assert answer.status_code == operation.status, (scope, answer.text)
        else:
            assert problem(answer) == (403, "forbidden"), scope


async def test_no_body_speaks_for_another_tenant(service: Service) -> None:
    async with service.client() as client:
        headers = {"Authorization": f"Bearer {service.key('acme', Scope.ADMIN)}"}
        answer = await client.post("/jobs", json={**_NEW_JOB, "tenant": "globex"}, headers=headers)

    assert problem(answer) == (404, "not-found")


async def test_a_bound_caller_of_a_login_that_no_policy_binds_is_bound_all_the_same(
    database: ScratchDatabase, service: Service
) -> None:
    foreign, key = service.things("globex"), service.key("acme", Scope.READ)
    as_superuser = Holdfast(database.owner_url)
    transport = httpx.ASGITransport(asgi(as_superuser))
    async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
        answer = await call(client, "show_job", foreign, key)
    await as_superuser.aclose()

    assert problem(answer) == (404, "not-found")
