"""Every operation of the API, called by everybody: the own tenant, another, nobody, each scope."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request

from holdfast import Holdfast
from holdfast.domain.access import Principal, Scope
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate
from holdfast.testing import TestServer
from service.asking import problem
from service.tenants import KINDS, SECRET, Service, Strange, Things, everything_of_globex
from sql.support import database_for

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = {operation.name: operation for operation in all_operations()}


@dataclass(frozen=True)
class Case:
    """How an operation is called about somebody's things."""

    path: Callable[[Things], dict[str, Any]] = lambda _things: {}
    query: Callable[[Things], dict[str, Any]] = lambda _things: {}
    body: Callable[[Things], dict[str, Any]] = lambda _things: {}

    @property
    def names_things(self) -> bool:
        """Whether it is about one tenant's things, so that another's are not found."""
        return self.path(_SOME) != self.path(_OTHERS)


_SOME, _OTHERS = (cast("Things", SimpleNamespace(**dict.fromkeys(KINDS, kind))) for kind in "xy")
_JOB = Case(lambda things: {"job_id": things.job})
_OPERATION = Case(lambda things: {"operation_id": things.operation})
_DELIVERY = Case(lambda things: {"delivery_id": things.delivery})
_KEY = Case(lambda things: {"key_id": things.key})
_VIEW = Case(lambda things: {"name": things.view})
_WORKER = Case(lambda things: {"worker_id": things.worker})
_NEW_JOB = {"task": "greet", "payload": {"name": "x"}}
# What is everybody's: only callers that are bound to no tenant get there at all.
_QUEUE, _TASK, _FLAG, _RULE = ({"name": name} for name in ("default", "greet", "flag", "rule"))
_SCHEDULE = {"name": "schedule"}
_CHANNEL = {"name": "channel"}
_PERSON = {"name": "ann"}
_PASSWORD = "a kettle over quiet marshes"


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
    "list_activity": _JOB,
    "list_job_approvals": _JOB,
    "show_flow": _JOB,
    "reveal_job": Case(lambda things: {"job_id": things.job}, body=lambda _: {"reason": "a customer asked"}),
    "wait_for_job": Case(lambda things: {"job_id": things.failed}),
    "cancel_job": _JOB,
    "retry_job": Case(lambda things: {"job_id": things.failed}),
    "reprioritise_job": Case(lambda things: {"job_id": things.job}, body=lambda _: {"priority": 1}),
    "move_job": Case(lambda things: {"job_id": things.job}, body=lambda _: {"queue": "default"}),
    "delete_job": Case(lambda things: {"job_id": things.failed}),
    "preview_operation": Case(query=lambda things: {"action": "cancel", "q": f"id:{things.job}"}),
    "create_operation": Case(body=lambda things: {"action": "cancel", "q": f"id:{things.job}"}),
    "list_operations": Case(),
    "show_operation": _OPERATION,
    "list_skipped": _OPERATION,
    "cancel_operation": _OPERATION,
    "list_views": Case(),
    "save_view": _everybodys({"name": "mine"}),
    "delete_view": _VIEW,
    "share_view": _everybodys({"name": "ours"}),
    "delete_shared_view": _VIEW,
    "list_approvals": Case(),
    "show_approval": Case(lambda things: {"approval_id": things.approval}),
    "decide_approval": Case(
        lambda things: {"approval_id": things.approval}, body=lambda _: {"decision": "deny", "reason": "no"}
    ),
    "approve_together": Case(
        body=lambda things: {"approvals": [{"id": str(things.approval), "version": "00"}]}
    ),
    "list_usage": Case(),
    "list_storage": Case(),
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
    "quiet_worker": _WORKER,
    "stop_worker": _WORKER,
    "resume_worker": _WORKER,
    "list_schedules": _everybodys(),
    "show_schedule": _everybodys(_SCHEDULE),
    "next_times": _everybodys(_SCHEDULE),
    "list_runs": _everybodys(_SCHEDULE),
    "create_schedule": Case(body=lambda _: {"name": str(uuid4()), "task": "greet", "every": 3600.0}),
    "edit_schedule": _everybodys(_SCHEDULE, every=3600.0),
    "explain_timing": Case(query=lambda _: {"cron": "0 2 * * *"}),
    "run_schedule": _everybodys(_SCHEDULE),
    "pause_schedule": _everybodys(_SCHEDULE),
    "resume_schedule": _everybodys(_SCHEDULE),
    "delete_schedule": _everybodys(_SCHEDULE),
    "set_quota": _everybodys(tenant="acme", period="day", hard=1000000.0),
    "set_weight": _everybodys({"tenant": "acme"}, weight=2),
    "show_statistics": _everybodys(),
    "list_flags": _everybodys(),
    "list_rules": _everybodys(),
    "list_channels": _everybodys(),
    "try_channel": _everybodys(_CHANNEL),
    "list_people": _everybodys(),
    "add_person": Case(
        lambda _: {"name": f"person{uuid4()}"}, body=lambda _: {"role": "viewer", "password": _PASSWORD}
    ),
    "set_role": _everybodys(_PERSON, role="viewer"),
    "set_password": _everybodys(_PERSON, password=_PASSWORD),
    "disable_person": _everybodys(_PERSON),
    "enable_person": _everybodys(_PERSON),
    "show_system": _everybodys(),
    "examine_system": _everybodys(),
    "set_flag": _everybodys(_FLAG, enabled=True),
    "list_alerts": _everybodys(),
    "mute_rule": _everybodys(_RULE),
    "unmute_rule": _everybodys(_RULE),
}


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


async def test_every_operation_says_here_how_it_is_called() -> None:
    assert sorted(CASES) == sorted(ALL)


@pytest.mark.parametrize("name", sorted(CASES))
async def test_a_tenants_own_key_reaches_its_own_and_no_answer_shows_anothers(
    service: Service, name: str
) -> None:
    own, foreign = service.things("acme"), service.things("globex")
    for kind in KINDS:
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

    assert problem(answer) == (404, "not-found")
    assert nameless(answer, name, foreign) == nameless(unknown, name, Strange(service, "globex"))
    assert SECRET not in answer.text
    assert everything_of_globex(service.machine) == before


def nameless(answer: httpx.Response, name: str, things: Things) -> tuple[int, Any, str]:
    """Give all of an answer but the name that was asked for."""
    text = answer.text
    for asked in CASES[name].path(things).values():
        text = text.replace(str(asked), "…")
    return answer.status_code, answer.headers, text


@pytest.mark.parametrize("name", sorted(CASES))
async def test_nobody_without_a_key_gets_an_answer(service: Service, name: str) -> None:
    async with service.client() as client:
        answer = await call(client, name, service.things("acme"), None)

    assert problem(answer) == (401, "unauthorized")


@pytest.mark.parametrize("name", sorted(CASES))
async def test_each_scope_opens_the_operations_that_name_it(service: Service, name: str) -> None:
    operation = ALL[name]
    async with service.client() as client:
        for scope in Scope:
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


# -- detours ---------------------------------------------------------------------------------------------------------------


async def test_no_search_and_no_cursor_leads_to_another_tenants_jobs(service: Service) -> None:
    own, foreign = service.things("acme"), service.things("globex")
    _ = own.job, foreign.job, foreign.failed
    searches = (
        "", "tenant:globex", "tenant:g*", f"id:{foreign.job}", str(foreign.job), SECRET, f"label:{SECRET}",
        f"payload.name:{SECRET}", "error:Boom", "status:pending", "task:greet", "worker:w*",
    )  # fmt: skip
    async with service.client() as client:
        theirs, ours = (
            {"Authorization": f"Bearer {service.key(tenant, Scope.ADMIN)}"} for tenant in ("globex", "acme")
        )
        for q in searches:
            first = await client.get("/jobs", params={"q": q, "limit": 1}, headers=theirs)
            for more in ({}, {"after": first.json().get("next")}):
                asked = {name: value for name, value in {"q": q, **more}.items() if value is not None}
                answer = await client.get("/jobs", params=asked, headers=ours)
                assert answer.status_code == first.status_code == 200, (q, first.text, answer.text)
                assert {item["tenant"] for item in answer.json()["items"]} <= {"acme"}, q
                assert SECRET not in answer.text, q


async def test_what_another_tenant_has_changes_no_answer_about_ones_own(service: Service) -> None:
    foreign = service.things("globex")
    name = str(uuid4())
    body = {**_NEW_JOB, "key": name, "on_conflict": "raise"}
    async with service.client() as client:
        made = [
            await client.post(
                "/jobs", json=body,
                headers={"Authorization": f"Bearer {service.key(tenant, Scope.ADMIN)}", "Idempotency-Key": name},
            )
            for tenant in ("globex", "acme", "acme")
        ]  # fmt: skip
        needing = [
            await client.post(
                "/jobs", json={**_NEW_JOB, "after": [str(job)]},
                headers={"Authorization": f"Bearer {service.key('acme', Scope.ADMIN)}"},
            )
            for job in (foreign.job, Strange(service, "globex").job)
        ]  # fmt: skip

    assert [answer.status_code for answer in made] == [201] * 3
    theirs, ours, repeated = (answer.json()["id"] for answer in made)
    assert theirs != ours == repeated
    texts = [
        answer.text.replace(str(job), "…")
        for answer, job in zip(needing, (foreign.job, Strange(service, "globex").job), strict=True)
    ]
    assert texts[0] == texts[1]
    assert problem(needing[0]) == (422, "invalid")


async def test_a_bound_caller_of_a_login_that_no_policy_binds_is_bound_all_the_same(
    service: Service,
) -> None:
    foreign, key = service.things("globex"), service.key("acme", Scope.READ)
    as_superuser = Holdfast(service.database.owner_url)
    transport = httpx.ASGITransport(asgi(as_superuser))
    async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
        answer = await call(client, "show_job", foreign, key)
    await as_superuser.aclose()

    assert problem(answer) == (404, "not-found")


async def test_a_database_with_one_role_serves_who_is_bound_to_none_and_refuses_the_others(
    holdfast_server: TestServer,
) -> None:
    async def authenticate(request: Request) -> Principal:
        return Principal("ann", frozenset(Scope), request.headers.get("tenant"))

    with database_for(holdfast_server.admin_url, "nocreaterole") as url:
        migrate(Database(url, "test"))
        app = Holdfast(url)

        @app.task()
        def greet(name: str) -> None: ...

        job = greet.using(tenant="acme").enqueue("Ann")
        transport = httpx.ASGITransport(asgi(app, authenticate=authenticate))
        async with httpx.AsyncClient(transport=transport, base_url="http://test/api/v1") as client:
            own = [
                await client.get(path, headers={"tenant": "acme"})
                for path in ("/jobs", f"/jobs/{job.id}", f"/jobs/{job.id}/wait?timeout=0")
            ]
            unbound = await client.get(f"/jobs/{job.id}")
        await app.aclose()

    assert [problem(answer) for answer in own] == [(403, "forbidden")] * 3
    assert "cannot keep tenants apart" in own[0].json()["detail"]
    assert unbound.json()["tenant"] == "acme"
