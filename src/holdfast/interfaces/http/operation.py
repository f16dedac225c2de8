"""One operation of the API: what it takes, who may call it, what it answers. Everything else is read off its function."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_type_hints
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from holdfast.domain.access import Principal, Scope
from holdfast.domain.job import Job
from holdfast.domain.segments import name_of
from holdfast.interfaces.http.hooks import Hooks, JobFacts
from holdfast.interfaces.http.problem import FORBIDDEN, NOT_FOUND, ProblemType, Refusal
from holdfast.store.access import enter, record_action
from holdfast.store.approval import find_approval
from holdfast.store.call import Call
from holdfast.store.inspect import find_job, find_several
from holdfast.store.transaction import AsyncTransaction

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

T = TypeVar("T")
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)
_PARAMETER = re.compile(r"{(\w+)}")
# Of so many jobs at once an application's rule is told everything.
_TOLD_AT_ONCE = 200


class Body(BaseModel):
    """Base of what requests bring: nothing is guessed, and nothing is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    most_members: ClassVar[int] = 10_000  # of all its objects and lists together


class Query(BaseModel):
    """Base of what stands behind the question mark."""

    model_config = ConfigDict(extra="forbid")


class ListQuery(Query):
    """Which part of a list is wanted."""

    after: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class View(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(from_attributes=True)


class Page(View):
    """A part of a list; `next` goes into ?after= for the part that follows."""

    next: str | None = None


@dataclass(slots=True)
class ApiCall:
    """One request on its way through the API: who asks, and the transaction in which everything it does happens."""

    app: "Holdfast"
    principal: Principal
    address: str | None
    # Of all that it does; None: a request that waits has one for each question.
    whole: AsyncTransaction | None
    headers: Mapping[str, str]
    is_gone: Callable[[], Awaitable[bool]]  # whether the caller has hung up
    hooks: Hooks = field(default_factory=Hooks)
    answer_headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        request: Request,
        app: "Holdfast",
        principal: Principal,
        transaction: AsyncTransaction | None,
        hooks: Hooks,
    ) -> "ApiCall":
        """Take from a request what concerns an operation."""
        address = request.client.host if request.client else None
        return cls(app, principal, address, transaction, request.headers, request.is_disconnected, hooks)

    async def begin(self, operation: "Operation", arguments: Mapping[str, Any]) -> None:
        """Refuse whoever may not do this: by their role, and then by the application's own rule."""
        operation.refuse(self.principal)
        if not await self.lets(operation.name, arguments):
            raise Refusal(FORBIDDEN, "this application does not let you do that")

    async def lets(self, action: str, arguments: Mapping[str, Any]) -> bool:
        """Ask the application's rule about the job that a request is about."""
        if self.hooks.authorize is None:
            return True
        job = await self._concerned(arguments)
        facts = None if job is None else JobFacts.of(job)
        return await self.hooks.allows(self.principal, action, facts)

    async def _concerned(self, arguments: Mapping[str, Any]) -> Job | None:
        """Find the job that a request is about; one that the caller cannot see is nobody's: it will not be found."""
        job_id = arguments.get("job_id")
        if "approval_id" in arguments:
            approval = await self.ask(find_approval(arguments["approval_id"], self.principal.tenant))
            job_id = None if approval is None else approval.job_id
        job = None if job_id is None else await self.ask(find_job(job_id))
        return job if job is not None and self._sees(job) else None

    def _sees(self, job: Job) -> bool:
        return self.principal.tenant in {None, job.tenant}

    async def may_show(self, job: Job) -> bool:
        """Whether a job may stand in a list."""
        return await self.hooks.allows(self.principal, "show_job", JobFacts.of(job))

    async def refused(self, action: str, jobs: Sequence[UUID]) -> set[UUID]:
        """Ask the application's rule about each of several jobs; those that it refuses are not to be touched."""
        if self.hooks.authorize is None:
            return set()
        told: list[Job] = []
        for first in range(0, len(jobs), _TOLD_AT_ONCE):
            some: list[Job] = await self.ask(find_several(jobs[first : first + _TOLD_AT_ONCE]))
            told += some
        return {
            job.id
            for job in told
            if self._sees(job) and not await self.hooks.allows(self.principal, action, JobFacts.of(job))
        }

    @property
    def transaction(self) -> AsyncTransaction:
        """The transaction in which everything happens."""
        if self.whole is None:
            raise RuntimeError("this operation was declared without a transaction")
        return self.whole

    async def ask(self, call: Call[T]) -> T:
        """Ask the database, which sees to it that only the caller's own tenant is touched."""
        if self.whole is not None:
            return await self.whole.perform(call)
        async with self.app.link.atransaction() as transaction:
            await transaction.perform(enter(self.principal.sees))
            return await transaction.perform(call)

    async def record(
        self, action: str, target: str | None = None, reason: str | None = None, **data: Any
    ) -> None:
        """Write down in the audit what this request does; it is kept exactly when it is done."""
        await self.ask(record_action(self.principal, self.address, action, target, reason, data or None))

    def require_tenant(self, asked: str | None) -> str | None:
        """Give the tenant to act for: a bound caller's own, another's only for who is bound to none."""
        if self.principal.tenant is None:
            return asked
        if asked not in {None, self.principal.tenant}:
            raise Refusal(NOT_FOUND, f"there is no tenant {asked!r}")
        return self.principal.tenant


@dataclass(frozen=True, slots=True)
class Operation:
    """A method on a path."""

    method: str
    path: str
    scope: Scope
    for_all: bool  # it concerns all tenants at once: not for callers that are bound to one
    handler: Handler
    status: HTTPStatus
    problems: tuple[ProblemType, ...]
    parameters: Mapping[str, type]
    query: type[Query] | None
    body: type[Body] | None
    answer: Any
    tag: str
    transaction: bool = True  # all of it in one
    told_once: str | None = None
    lasting: bool = True  # its answer may be kept

    @property
    def name(self) -> str:
        """Its operationId."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def repeats_are_kept(self) -> bool:
        """Whether an Idempotency-Key is obeyed."""
        return self.method == "POST" and self.lasting

    def refuse(self, principal: Principal) -> None:
        """Refuse whoever may not do this."""
        if not principal.may(self.scope):
            raise Refusal(FORBIDDEN, f"this needs the scope {self.scope}")
        if self.for_all and principal.tenant is not None:
            raise Refusal(FORBIDDEN, "this concerns all tenants, and you are bound to one")

    def read_parameters(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Understand the parts of the path; what is no id names nothing."""
        try:
            return {name: _PARSERS[kind](given[name]) for name, kind in self.parameters.items()}
        except ValueError:
            raise Refusal(NOT_FOUND) from None


def _name(text: str) -> str:
    name = name_of(text)
    if not name or "\x00" in name:
        raise ValueError(text)
    return name


_PARSERS: dict[type, Callable[[str], Any]] = {
    UUID: UUID,
    int: int,
    str: _name,
    datetime: datetime.fromisoformat,
}


_operations: dict[Handler, Operation] = {}


def operation_of(handler: Handler) -> Operation:
    """Give the operation that a function was declared as."""
    return _operations[handler]


class Operations:
    """A group of operations, collected by decorators."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.all: list[Operation] = []

    def get(
        self,
        path: str,
        *,
        scope: Scope = Scope.READ,
        for_all: bool = False,
        problems: tuple[ProblemType, ...] = (),
        transaction: bool = True,
    ) -> Callable[[H], H]:
        """Declare something to read; what waits does so without a transaction."""
        return self._declare(
            "GET", path, scope, HTTPStatus.OK, for_all=for_all, problems=problems, transaction=transaction
        )

    def post(
        self,
        path: str,
        *,
        scope: Scope,
        status: HTTPStatus = HTTPStatus.OK,
        for_all: bool = False,
        problems: tuple[ProblemType, ...] = (),
        told_once: str | None = None,
        lasting: bool = True,
    ) -> Callable[[H], H]:
        """Declare something to do; with an Idempotency-Key it is done once.

        What is told once is a member of the answer that is kept nowhere: a repeat is answered without it.
        What is not lasting is done again by each repeat, and answered anew.
        """
        return self._declare(
            "POST",
            path,
            scope,
            status,
            for_all=for_all,
            problems=problems,
            told_once=told_once,
            lasting=lasting,
        )

    def put(
        self, path: str, *, scope: Scope, for_all: bool = False, problems: tuple[ProblemType, ...] = ()
    ) -> Callable[[H], H]:
        """Declare something to set, which may be repeated."""
        return self._declare("PUT", path, scope, HTTPStatus.OK, for_all=for_all, problems=problems)

    def delete(
        self, path: str, *, scope: Scope, for_all: bool = False, problems: tuple[ProblemType, ...] = ()
    ) -> Callable[[H], H]:
        """Declare something to take away, which may be repeated."""
        return self._declare("DELETE", path, scope, HTTPStatus.OK, for_all=for_all, problems=problems)

    def _declare(
        self,
        method: str,
        path: str,
        scope: Scope,
        status: HTTPStatus,
        *,
        for_all: bool,
        problems: tuple[ProblemType, ...],
        transaction: bool = True,
        told_once: str | None = None,
        lasting: bool = True,
    ) -> Callable[[H], H]:
        def declare(handler: H) -> H:
            hints = get_type_hints(handler)
            operation = Operation(
                method=method,
                path=path,
                scope=scope,
                for_all=for_all,
                handler=handler,
                status=status,
                problems=problems,
                parameters={name: hints[name] for name in _PARAMETER.findall(path)},
                query=hints.get("query"),
                body=hints.get("body"),
                answer=hints["return"],
                tag=self.tag,
                transaction=transaction,
                told_once=told_once,
                lasting=lasting,
            )
            self.all.append(operation)
            _operations[handler] = operation
            return handler

        return declare
