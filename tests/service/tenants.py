"""Two tenants of one service: what each has, keys to call it with, and what must not have changed."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
from psycopg.types.json import Jsonb

from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.domain.states import Status
from holdfast.interfaces.http.asgi import asgi
from holdfast.runtime.access import create_key
from holdfast.server import SharedSecret
from holdfast.testing import ScratchDatabase
from service.house import HASHED
from sql.asking import ask
from sql.support import Machine
from sql.test_project import project_all

KINDS = ("job", "failed", "approval", "operation", "delivery", "key", "view", "worker")
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
        """A job that a person may retry, or delete: its end is counted."""
        failed = self._machine.job_in(Status.FAILED, "greet", **self._given)
        project_all(self._machine)
        return failed

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

    @cached_property
    def worker(self) -> UUID:
        """A worker, which is everybody's."""
        return self._machine.worker()

    @cached_property
    def view(self) -> str:
        """The name of a view that each of its keys has, and of one that is shared; of keys bound to none as well."""
        name = str(uuid4())
        self._machine.run(
            "insert into holdfast.saved_view (tenant, owner, name, search, columns, reach, saved_by)"
            " select t, o, %s, %s, '', '7d', 'ann' from unnest(%s::text[]) as t, unnest(%s::text[]) as o",
            name,
            self.word,
            [self.tenant, *([] if self.tenant == "globex" else [None])],
            [None, *(f"key:test {scope}" for scope in Scope)],
        )
        return name


class Strange(Things):
    """What nobody has."""

    job = failed = approval = operation = delivery = worker = cast("Any", uuid4())
    key = cast("Any", "nokeynokeyno")
    view = cast("Any", str(uuid4()))


class Service:
    """An app's service, and keys to call it with."""

    def __init__(self, database: ScratchDatabase, machine: Machine) -> None:
        self.database = database
        self.app = database.use(Holdfast())
        self.machine = machine

        async def handle(_event: Any, _conn: Any) -> None: ...

        self.app.webhook("shop", verify=SharedSecret(secrets.token_urlsafe(32)), on={"*": handle})
        machine.register("greet", "refund", "holdfast.notify.channel")
        machine.run("select holdfast.create_person('ann', %s, 'viewer', null, 'tests')", HASHED)
        machine.run("select holdfast.set_flag('flag', true)")
        machine.run(
            'select holdfast.register_alerts(\'a\', \'[{"name": "channel", "kind": "slack"}]\', \'[{"name": "rule", "kind": "job_failed",'
            ' "severity": "info", "channels": []}]\')'
        )
        self._keys: dict[tuple[str | None, tuple[Scope, ...]], str] = {}
        self._served = asgi(self.app)

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
        transport = httpx.ASGITransport(self._served)
        async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
            yield client


def everything_of_globex(machine: Machine) -> list[Any]:
    """Read all rows of globex in all tables that say whose a row is."""
    return [
        machine.rows(f"select t::text from holdfast.{table} t where t.tenant = 'globex' order by 1")
        for table in ("job", "operation", "webhook_delivery", "api_key", "audit", "saved_view")
    ] + [machine.rows("select a::text from holdfast.approval a order by 1")]
