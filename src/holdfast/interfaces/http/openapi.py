"""The API's description, OpenAPI 3.1: read off the operations, so that it cannot say anything else than they do."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from holdfast.domain.access import Scope
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.live import EventsQuery
from holdfast.interfaces.http.operation import Operation, Query
from holdfast.interfaces.http.problem import Problem, ProblemType

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaMode

REFERENCE = "#/components/schemas/{model}"
_Key = tuple[str, str]

# What any operation may answer, whatever it does.
_ALWAYS = (
    problems.UNAUTHORIZED,
    problems.FORBIDDEN,
    problems.TOO_MANY,
    problems.INTERNAL,
    problems.UNAVAILABLE,
)
_WITH_BODY = (
    problems.BAD_REQUEST,
    problems.TOO_SLOW,
    problems.TOO_LARGE,
    problems.WRONG_MEDIA_TYPE,
    problems.INVALID,
)
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Repeats of one request under one key are done once and answered the same, for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}
_EVENTS_TAG = "events"
_EVENTS = (
    "Follow one of `subject`, `tenant` and `job`; a caller that is bound to a tenant may leave out all three."
    " `data` of every event but `ready` and `reset` is a JSON object with `kind`, `job_id`, `at` and `data`."
    " `reset` says that events between are gone: load anew what you show. A stream may be cut at any time; come again with the"
    " last id, and nothing is missed or told twice."
)
_NAME = (
    "One segment, with `/` as `%2F`. A part between slashes that is `.`, `..` or `edit`, or one of them behind `~`, has one `~`"
    " more before it (`~..` names `..`): what resolves an address takes dots for a way up, however they are escaped."
)
_LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that came; it counts more than `after`.",
    "schema": {"type": "string"},
}


def describe(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Describe these operations."""
    found = list(operations)
    schemas, components = _schemas(found)
    paths: dict[str, dict[str, Any]] = {}
    for operation in found:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, schemas)
    paths["/events"] = {"get": _events(schemas)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version,
            "description": "Durable jobs on PostgreSQL.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"key": []}],
        "tags": [
            {"name": tag} for tag in dict.fromkeys([*(operation.tag for operation in found), _EVENTS_TAG])
        ],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "hfk_…"}},
        },
    }


def _schemas(operations: list[Operation]) -> tuple[dict[_Key, Any], dict[str, Any]]:
    wanted: list[tuple[_Key, JsonSchemaMode, TypeAdapter[Any]]] = [
        (("", "problem"), "serialization", TypeAdapter(Problem))
    ]
    for operation in operations:
        wanted.append(((operation.name, "answer"), "serialization", TypeAdapter(operation.answer)))
        if operation.body is not None:
            wanted.append(((operation.name, "body"), "validation", TypeAdapter(operation.body)))
    inputs: Any = wanted
    made, definitions = TypeAdapter.json_schemas(inputs, ref_template=REFERENCE)
    return {key: schema for (key, _mode), schema in made.items()}, dict(definitions.get("$defs", {}))


def _described(operation: Operation, schemas: dict[_Key, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "x-scope": str(operation.scope),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation.query)],
        "responses": _responses(operation, schemas),
    }
    if operation.repeats_are_kept:
        described["parameters"].append(_IDEMPOTENCY_KEY)
    if operation.body is not None:
        content = {"application/json": {"schema": schemas[operation.name, "body"]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            **({"description": _NAME} if kind is str else {}),
            "schema": TypeAdapter(kind).json_schema(),
        }
        for name, kind in operation.parameters.items()
    ]


def _query_parameters(query: type[Query] | None) -> list[dict[str, Any]]:
    if query is None:
        return []
    schema = TypeAdapter(query).json_schema(ref_template=REFERENCE)
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(inner)}
        for name, inner in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """In a query string nothing is null: what is not given is not there."""
    choices = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "default", "title"}}
    return {**rest, **choices[0]} if len(choices) == 1 else schema


def _responses(operation: Operation, schemas: dict[_Key, Any]) -> dict[str, Any]:
    kinds = {*_ALWAYS, *operation.problems}
    if operation.body is not None:
        kinds |= {*_WITH_BODY}
    if operation.query is not None or operation.repeats_are_kept:
        kinds.add(problems.INVALID)
    if operation.parameters:
        kinds.add(problems.NOT_FOUND)
    if operation.repeats_are_kept:
        kinds.add(problems.KEY_REUSED)
    answer = {"application/json": {"schema": schemas[operation.name, "answer"]}}
    told = {
        str(int(operation.status)): {"description": HTTPStatus(operation.status).phrase, "content": answer}
    }
    return told | _problems(kinds, schemas)


def _problems(kinds: Iterable[ProblemType], schemas: dict[_Key, Any]) -> dict[str, Any]:
    by_status: dict[int, list[ProblemType]] = {}
    for kind in sorted(kinds, key=lambda kind: (kind.status, kind.name)):
        by_status.setdefault(int(kind.status), []).append(kind)
    content = {problems.MEDIA_TYPE: {"schema": schemas["", "problem"]}}
    told: dict[str, Any] = {}
    for status, some in sorted(by_status.items()):
        names = "; ".join(f"{kind.title} ({kind.name})" for kind in some)
        told[str(status)] = {"description": names, "content": content}
    return told


# -- the stream, which is no operation: it has no transaction and no end ---------------------------------------------------


def _events(schemas: dict[_Key, Any]) -> dict[str, Any]:
    stream = {
        "description": "A stream without end: `ready`, then an event for all that happens, and comments in silence.",
        "headers": {
            "Cache-Control": {"schema": {"type": "string", "const": "no-store"}},
            "X-Accel-Buffering": {"schema": {"type": "string", "const": "no"}},
        },
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
    kinds = {*_ALWAYS, problems.NOT_FOUND, problems.INVALID}
    return {
        "operationId": "follow_events",
        "summary": "Follow what happens to a subject, a tenant or a job, as server-sent events.",
        "description": _EVENTS,
        "tags": [_EVENTS_TAG],
        "x-scope": str(Scope.READ),
        "parameters": [*_query_parameters(EventsQuery), _LAST_EVENT_ID],
        "responses": {"200": stream} | _problems(kinds, schemas),
    }
