"""Schemathesis against the API's own description: whatever is sent, it answers as described, and never with a 5xx."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from apps._world.serving import served
from holdfast import Holdfast
from holdfast.domain.access import Scope
from holdfast.interfaces.http.asgi import all_operations, asgi
from holdfast.runtime.access import create_key
from holdfast.testing import TestServer

EXAMPLES = 200 if os.environ.get("HOLDFAST_LONG") else 8
NAMES = [f"{operation.method} {operation.path}" for operation in all_operations()]


class Target(NamedTuple):
    """A service with a key that opens everything, and what it says about itself."""

    schema: Any
    headers: dict[str, str]


@pytest.fixture(scope="module")
def target(holdfast_server: TestServer) -> Iterator[Target]:
    with holdfast_server.database() as database:
        app = database.use(Holdfast())

        @app.task(flag="greeting")
        async def greet(name: str) -> str:
            return name

        greet.enqueue("first")
        app.schedules.create("nightly", greet, cron="0 2 * * *", payload={"name": "Ann"})
        key = create_key(app, "fuzz", scopes=[Scope.ADMIN])
        with served(asgi(app)) as url:
            headers = {"Authorization": f"Bearer {key}"}
            yield Target(schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json"), headers)
        app.close()


def refuses_only_what_the_schema_does_not_say(case: Any, response: Any) -> None:
    """A body that fits its schema may still make no sense; but then in words, and not field by field."""
    is_fit = case.meta is None or case.meta.generation.mode.is_positive
    assert not (is_fit and response.status_code == 422 and response.json().get("errors")), response.text


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_does_what_its_description_says(target: Target, name: str) -> None:
    found = {one.ok().label: one.ok() for one in target.schema.get_all_operations() if isinstance(one, Ok)}

    @given(case=found[name].as_strategy())
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def conforms(case: Any) -> None:
        response = case.call(headers=target.headers)
        case.validate_response(response, excluded_checks=[positive_data_acceptance], headers=target.headers)
        refuses_only_what_the_schema_does_not_say(case, response)

    conforms()
