"""Schemathesis against the API's own description: whatever is sent, it answers as described, and never with a 5xx."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.generation.stateful import run_state_machine_as_test
from schemathesis.specs.openapi.checks import positive_data_acceptance

from apps._world.serving import served
from holdfast import Holdfast
from holdfast.domain.access import Role, Scope
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.runtime.access import create_key
from holdfast.store.people import create_person
from holdfast.testing import TestServer
from service.house import HASHED
from world.kept import define_emptying
from world.often import times

NAMES = [f"{operation.method} {operation.path}" for operation in all_operations()]
EXAMPLES = times(4, 50_000 // len(NAMES))


class Target(NamedTuple):
    """A service with a key that opens everything, and what it says about itself."""

    operations: dict[str, Any]
    headers: dict[str, str]
    url: str
    begin_anew: Callable[[], object]


@pytest.fixture(scope="module")
def target(holdfast_server: TestServer) -> Iterator[Target]:
    with (
        holdfast_server.database() as database,
        psycopg.connect(database.owner_url, autocommit=True) as owner,
    ):
        app = database.use(Holdfast())

        @app.task(flag="greeting")
        async def greet(name: str) -> str:
            return name

        app.schedules.create("nightly", greet, cron="0 2 * * *", payload={"name": "Ann"})
        app.link.perform_once(create_person("ann", HASHED, Role.VIEWER, None, "tests"))
        key = create_key(app, "fuzz", scopes=[Scope.ADMIN])
        define_emptying(owner)
        greet.enqueue("first")

        def begin_anew() -> None:
            owner.execute("select pg_temp.be_empty()")
            greet.enqueue("first")

        with served(asgi(app)) as url:
            headers = {"Authorization": f"Bearer {key}"}
            described = f"{url}/api/v1/openapi.json"
            found = schemathesis.openapi.from_url(described).get_all_operations()
            yield Target(
                {one.ok().label: one.ok() for one in found if isinstance(one, Ok)},
                headers,
                described,
                begin_anew,
            )
        app.close()


def refuses_only_what_the_schema_does_not_say(case: Any, response: Any) -> None:
    """A body that fits its schema may still make no sense; but then in words, and not field by field."""
    is_fit = case.meta is None or case.meta.generation.mode.is_positive
    told = response.json().get("errors") or [] if response.status_code == 422 else []
    # To JSON Schema 1.0 is a whole number, to us it is none; no schema can say so.
    wrong = [each for each in told if each["message"] != "Input should be a valid integer"]
    assert not (is_fit and wrong), response.text


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_does_what_its_description_says(target: Target, name: str) -> None:
    @given(case=target.operations[name].as_strategy())
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    def conforms(case: Any) -> None:
        response = case.call(headers=target.headers)
        case.validate_response(response, excluded_checks=[positive_data_acceptance], headers=target.headers)
        refuses_only_what_the_schema_does_not_say(case, response)

    conforms()


# Operations that answer each other's questions. Apart: among all others they would meet by luck alone, the less of it the
# more there are.
GROUPS = {
    "jobs": r"^/jobs",
    "queues and tasks": r"^/(queues|tasks)",
    "schedules": r"^/schedule",
    "views": r"^/(views|shared-views)",
    "flags and operations": r"^/(flags|operations)",
    "callers": r"^/(keys|people)",
    "others": r"^/(alerts|approvals|audit|deliveries|quotas|statistics|storage|system|tenants|usage|workers)",
}
# Nothing of them is there to be found: jobs that ask, events that others brought, and rules are other tests' matter.
EMPTY = {"others"}


def test_every_operation_is_in_one_group() -> None:
    groups = {
        operation.path: [name for name, paths in GROUPS.items() if re.match(paths, operation.path)]
        for operation in all_operations()
    }

    assert {path: found for path, found in groups.items() if len(found) != 1} == {}


def lead_from_the_list_of_jobs(description: dict[str, Any]) -> None:
    """Say what no tool can guess, because lists show less of a job than it shows of itself: whose id that is."""
    listed = description["paths"]["/jobs"]["get"]["responses"]["200"]
    listed["links"] = {
        operation.name: {
            "operationId": operation.name,
            "parameters": {"job_id": "$response.body#/items/0/id"},
        }
        for operation in all_operations()
        if list(operation.parameters) == ["job_id"]
    }


@pytest.mark.parametrize("group", GROUPS)
def test_operations_one_after_another_do_what_their_descriptions_say(target: Target, group: str) -> None:
    """What one answers goes into the next: a job that is listed is shown, cancelled and retried, a queue paused and resumed."""
    seen: Counter[tuple[str, int]] = Counter()
    # Read anew, because it is changed; without the end of the key that all of this is done with.
    described: Any = schemathesis.openapi.from_url(target.url)
    schema = described.include(path_regex=GROUPS[group]).exclude(path_regex=r"/keys/.*/(revoke|rotate)")
    schema.analysis.inject_links()
    lead_from_the_list_of_jobs(schema.raw_schema)
    schema.config.generation.update(
        modes=[GenerationMode.POSITIVE]
    )  # who sends what fits no description gets nowhere

    class Story(schema.as_state_machine()):  # type: ignore[misc]  # it is made at run time
        def setup(self) -> None:
            # What a story can go on with is what it has found so far, which must not be what others have left.
            target.begin_anew()
            super().setup()

        def before_call(self, case: Any) -> None:
            if case.path.endswith("/wait"):  # for work that nobody does here
                case.query["timeout"] = "0"

        def get_call_kwargs(self, _case: Any) -> dict[str, Any]:
            return {"headers": target.headers}

        def validate_response(self, response: Any, case: Any, **_more: Any) -> None:
            seen[case.operation.label, response.status_code] += 1
            case.validate_response(
                response, excluded_checks=[positive_data_acceptance], headers=target.headers
            )

    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=times(4, 1_000 // len(GROUPS)), stateful_step_count=6, database=None, suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip

    found = {label for (label, status), _ in seen.items() if "{" in label and status == 200}
    assert found or group in EMPTY, "nothing that was there was ever found again"
