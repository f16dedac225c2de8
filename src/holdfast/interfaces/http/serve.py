"""The API as an ASGI application: every request is read within limits, let in, done in one transaction, and answered."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from holdfast.domain.errors import BadPayload
from holdfast.domain.json_rules import check_parsed
from holdfast.interfaces.http import body as bodies
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.operation import ApiCall, Body, Operation, Query
from holdfast.interfaces.http.problem import FieldProblem, Refusal, refusal_of
from holdfast.interfaces.http.segmented import SegmentedRoute
from holdfast.store.access import begin_request, enter, keep_answer

if TYPE_CHECKING:
    from holdfast.domain.access import Principal
    from holdfast.runtime.app import Holdfast
    from holdfast.store.transaction import AsyncTransaction

LARGEST_BODY = 1024 * 1024


class Endpoint:
    """All methods of one path."""

    def __init__(self, app: "Holdfast", access: Access, operations: Sequence[Operation]) -> None:
        self._app = app
        self._access = access
        self._operations = {operation.method: operation for operation in operations}
        self._answers = {operation.method: TypeAdapter(operation.answer) for operation in operations}

    async def __call__(self, request: Request) -> Response:
        """Answer one request; whatever goes wrong is a problem of a known type."""
        try:
            return await self._answer(request)
        except Refusal as refusal:
            return refusal.response
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            return refusal_of(error).response

    async def _answer(self, request: Request) -> Response:
        operation = self._operations.get(request.method)
        if operation is None:
            raise Refusal(problems.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(sorted(self._operations))})
        principal = await self._access.caller(request)
        if principal is None:
            raise Refusal(problems.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
        operation.refuse(principal)
        raw = await read_raw(request) if operation.body is not None else b""
        arguments = operation.read_parameters(request.path_params)
        if operation.query is not None:
            arguments["query"] = read_query(operation.query, request)
        if operation.body is not None:
            arguments["body"] = read_json(operation.body, request, raw)
        if not operation.transaction:
            call = self._call(request, principal, None)
            await call.begin(operation, arguments)
            text = self._written(operation, await operation.handler(call, **arguments))
            return answered(operation.status, text, call.answer_headers)
        async with self._app.link.atransaction() as transaction:
            await transaction.perform(enter(principal.sees))
            call = self._call(request, principal, transaction)
            await call.begin(operation, arguments)
            kept = Kept.of(operation, principal, request, raw)
            if kept is not None and (before := await kept.before(transaction)) is not None:
                return before
            answer = await operation.handler(call, **arguments)
            text = self._written(operation, answer)
            if kept is not None:
                lasting = self._without_secret(operation, answer, text)
                await transaction.perform(
                    keep_answer(kept.tenant, kept.key, operation.status, lasting.decode())
                )
        return answered(operation.status, text, call.answer_headers)

    def _call(
        self, request: Request, principal: "Principal", transaction: "AsyncTransaction | None"
    ) -> ApiCall:
        return ApiCall.of(request, self._app, principal, transaction, self._access.hooks)

    def _written(self, operation: Operation, answer: Any) -> bytes:
        return self._answers[operation.method].dump_json(answer)

    def _without_secret(self, operation: Operation, answer: Any, text: bytes) -> bytes:
        if operation.told_once is None:
            return text
        told = {**answer.model_dump(), operation.told_once: None}
        return self._written(operation, type(answer).model_validate(told))


class Kept:
    """A request whose answer is kept, so that a repeat of it does nothing and is answered the same."""

    def __init__(self, tenant: str | None, key: str, digest: bytes) -> None:
        self.tenant = tenant
        self.key = key
        self._digest = digest

    @classmethod
    def of(cls, operation: Operation, principal: "Principal", request: Request, raw: bytes) -> "Kept | None":
        """Read the Idempotency-Key, if there is one and it means something here."""
        key = request.headers.get("idempotency-key")
        if key is None or not operation.repeats_are_kept:
            return None
        if not key.isprintable() or not 1 <= len(key) <= 255:  # noqa: PLR2004 - as the table says
            raise Refusal(problems.INVALID, "Idempotency-Key has 1 to 255 printable characters")
        said = b"\n".join([request.method.encode(), str(request.scope["path"]).encode(), raw])
        return cls(principal.tenant, key, hashlib.sha256(said).digest())

    async def before(self, transaction: "AsyncTransaction") -> Response | None:
        """Give the answer of before; waits while the same request is being done."""
        kept = await transaction.perform(begin_request(self.tenant, self.key, self._digest))
        if kept is None:
            return None
        if not kept.is_same:
            raise Refusal(problems.KEY_REUSED)
        return answered(kept.status, kept.answer.encode(), {"Idempotent-Replayed": "true"})


def answered(status: int, text: bytes, headers: Mapping[str, str]) -> Response:
    """Give an answer in JSON."""
    return Response(text, status, {"Cache-Control": "no-store", **headers}, media_type="application/json")


async def read_raw(request: Request) -> bytes:
    """Read a body within its limits."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(problems.WRONG_MEDIA_TYPE, "Content-Type must be application/json")
    try:
        return await bodies.read_body(request, LARGEST_BODY)
    except bodies.TooLarge:
        raise Refusal(problems.TOO_LARGE, f"at most {LARGEST_BODY:,} bytes (1 MiB)") from None
    except (bodies.TooSlow, ClientDisconnect):
        raise Refusal(problems.TOO_SLOW) from None


def read_json(model: type[Body], request: Request, raw: bytes) -> Body:
    """Understand a body: strict JSON first, then what this operation wants of it."""
    if "content-encoding" in request.headers:
        raise Refusal(problems.WRONG_MEDIA_TYPE, "send the body as it is, without Content-Encoding")
    try:
        _count_members(check_parsed(raw.decode(), "body"), model.most_members)
    except UnicodeDecodeError:
        raise Refusal(problems.BAD_REQUEST, "the body is not UTF-8") from None
    except BadPayload as error:
        raise Refusal(problems.BAD_REQUEST, str(error)) from None
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise Refusal(problems.INVALID, fields=_fields(error)) from None


def _count_members(value: Any, most: int) -> None:
    waiting, members = [value], 0
    while waiting:
        one = waiting.pop()
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        members += len(inside)
        if members > most:
            raise BadPayload(f"body: has more than {most:,} members")
        waiting.extend(inside)


def read_query(model: type[Query], request: Request) -> Query:
    """Understand what stands behind the question mark; a name twice means nothing."""
    pairs = request.query_params.multi_items()
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Refusal(problems.INVALID, "a query parameter is given twice")
    try:
        return model.model_validate_strings(given)
    except ValidationError as error:
        raise Refusal(problems.INVALID, fields=_fields(error)) from None


def _fields(error: ValidationError) -> list[FieldProblem]:
    # Without the input: it may be a secret that was put into the wrong field.
    return [
        FieldProblem(at=".".join(str(part) for part in one["loc"]), message=one["msg"][:300])
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:20]
    ]


def routes(app: "Holdfast", access: Access, operations: Sequence[Operation]) -> list[SegmentedRoute]:
    """Make a route a path, which answers all its methods."""
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    return [SegmentedRoute(path, _EveryMethod(Endpoint(app, access, some))) for path, some in by_path.items()]


class _EveryMethod:
    """An ASGI application, not a function: Starlette then leaves the method to us, and 405 names all of them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        response = await self._endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


async def not_found(_request: Request, error: Exception) -> Response:
    """Answer for paths that nobody has."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    kind = problems.METHOD_NOT_ALLOWED if status == problems.METHOD_NOT_ALLOWED.status else problems.NOT_FOUND
    return Refusal(kind).response
