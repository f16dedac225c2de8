"""What a panel looks through: the operations of the API, asked for one person, in a transaction that reads and is short."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from starlette.requests import Request

from holdfast.domain.access import Principal, Scope
from holdfast.interfaces.http.hooks import Hooks, JobFacts
from holdfast.interfaces.http.operation import ApiCall, operation_of
from holdfast.store.access import enter, look_briefly

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast
    from holdfast.store.transaction import AsyncTransaction

P = ParamSpec("P")
T = TypeVar("T")

APPLICATION = "holdfast-dashboard"


@dataclass(slots=True)
class Look:
    """One person's look at one thing."""

    request: Request
    principal: Principal
    call: ApiCall

    def may(self, scope: Scope) -> bool:
        """Whether this person has a scope."""
        return self.principal.may(scope)

    async def require(self, handler: Callable[..., Awaitable[Any]], **named: Any) -> None:
        """Refuse whoever may not ask this operation of the API."""
        await self.call.begin(operation_of(handler), named)

    async def allows(self, handler: Callable[..., Awaitable[Any]], job: JobFacts) -> bool:
        """Whether the application lets this person do something with a job, which their role allows."""
        return await self.call.hooks.allows(self.principal, operation_of(handler).name, job)

    async def at(self, handler: Callable[P, Awaitable[T]], /, *arguments: Any, **named: Any) -> T:
        """Ask an operation of the API, under its own rules for who may."""
        looked: Any = handler
        given = inspect.signature(looked).bind(self.call, *arguments, **named).arguments
        await self.call.begin(operation_of(handler), given)
        answer: T = await looked(self.call, *arguments, **named)
        return answer


class Window:
    """Makes looks: the dashboard has connections of its own, so that its readers cost nobody theirs."""

    def __init__(self, app: "Holdfast", hooks: Hooks) -> None:
        self._app = app
        self._hooks = hooks
        self.link = app.link.beside(APPLICATION)

    @asynccontextmanager
    async def looking(self, request: Request, principal: Principal) -> AsyncIterator[Look]:
        """Read in a transaction that may not write and is ended when it takes too long."""
        async with self.link.atransaction() as transaction:
            await transaction.perform(look_briefly(principal.sees))
            yield self._look(request, principal, transaction)

    @asynccontextmanager
    async def acting(self, request: Request, principal: Principal) -> AsyncIterator[Look]:
        """Do something in one transaction, as the API does."""
        async with self._app.link.atransaction() as transaction:
            await transaction.perform(enter(principal.sees))
            yield self._look(request, principal, transaction)

    def _look(self, request: Request, principal: Principal, transaction: "AsyncTransaction") -> Look:
        call = ApiCall.of(request, self._app, principal, transaction, self._hooks)
        return Look(request, principal, call)
