"""/api/v1/events: what happens, as it happens, to whoever may see it; a stream that can be cut anywhere and resumed."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field
from starlette.requests import Request
from starlette.routing import Route

from holdfast.domain.access import Principal, Scope
from holdfast.domain.live import ChannelTopic, JobTopic, Topic
from holdfast.interfaces.http import problem as problems
from holdfast.interfaces.http.access import Access
from holdfast.interfaces.http.hooks import JobFacts
from holdfast.interfaces.http.operation import Query
from holdfast.interfaces.http.problem import Refusal, refusal_of
from holdfast.interfaces.http.serve import read_query
from holdfast.interfaces.http.streaming import Stream
from holdfast.runtime.live import Full, Live
from holdfast.store.access import enter
from holdfast.store.inspect import find_job
from holdfast.store.live import follow_job

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

ACTION = "stream_events"  # as the application's own rule is asked about it


def _printable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("holds a NUL")
    return text


class EventsQuery(Query):
    """What to follow: one of subject, tenant and job."""

    subject: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_printable)] | None = None
    tenant: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)] | None = None
    job: UUID | None = None
    after: Annotated[str, Field(pattern=r"^\d{1,18}(\.\d{1,18})?$")] | None = None


class Events:
    """The endpoint, as an ASGI application: Starlette's own streams would hide when a reader stops reading."""

    def __init__(self, app: "Holdfast", access: Access, hub: Live | None = None) -> None:
        self._app = app
        self._access = access
        self._live = hub or Live(app.link)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request: refuse it, or stream."""
        request = Request(scope, receive)
        try:
            principal = await self._principal(request)
            topic, after = await self._asked(request, principal)
            stream = self._live.reader(topic, after, principal.tenant)
            reader = await stream.__aenter__()
        except Full as full:
            refusal = Refusal(problems.TOO_MANY, str(full), headers={"Retry-After": "30"})
            await refusal.response(scope, receive, send)
            return
        except Refusal as refusal:
            await refusal.response(scope, receive, send)
            return
        except Exception as error:  # noqa: BLE001 - nothing may reach the caller that says how we work inside
            await refusal_of(error).response(scope, receive, send)
            return
        try:
            await Stream(self._access, request, principal, reader, send).run()
        finally:
            await stream.__aexit__(None, None, None)

    async def _principal(self, request: Request) -> Principal:
        if request.method != "GET":
            raise Refusal(problems.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
        principal = await self._access.caller(request)
        if principal is None:
            raise Refusal(problems.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
        if not principal.may(Scope.READ):
            raise Refusal(problems.FORBIDDEN, f"this needs the scope {Scope.READ}")
        return principal

    async def _asked(self, request: Request, principal: Principal) -> tuple[Topic, str | None]:
        query = read_query(EventsQuery, request)
        assert isinstance(query, EventsQuery)  # noqa: S101 - what was asked for
        topic = await self._topic(query, principal)
        await self._refuse_unallowed(principal, query.job)
        await self._refuse_unbindable(principal)
        # A browser that comes again repeats its address, and says in the header how far it came meanwhile.
        return topic, request.headers.get("last-event-id", query.after)

    async def _refuse_unbindable(self, principal: Principal) -> None:
        """Refuse who is bound to a tenant where the database cannot keep it to that, as every operation does."""
        if principal.tenant is not None:
            async with self._app.link.atransaction() as transaction:
                await transaction.perform(enter(principal.sees))

    async def _topic(self, query: EventsQuery, principal: Principal) -> Topic:
        named = [name for name in ("subject", "tenant", "job") if getattr(query, name) is not None]
        if len(named) > 1:
            raise Refusal(problems.INVALID, f"follow one of {' and '.join(named)}, not both")
        if query.job is not None:
            return await self._job(query.job, principal)
        if query.subject is not None:
            return ChannelTopic(f"subject:{query.subject}", principal.sees)
        tenant = query.tenant or principal.tenant
        if tenant is None:
            raise Refusal(problems.INVALID, "say what to follow: subject=, tenant= or job=")
        if principal.tenant not in {None, tenant}:
            raise Refusal(problems.NOT_FOUND, f"there is no tenant {tenant!r}")
        return ChannelTopic(f"tenant:{tenant}", principal.sees)

    async def _job(self, job_id: UUID, principal: Principal) -> Topic:
        found = await self._app.link.aperform(follow_job(job_id))
        if found is None or principal.tenant not in {None, found.tenant}:
            raise Refusal(problems.NOT_FOUND, f"no job has the id {job_id}")
        return JobTopic(job_id)

    async def _refuse_unallowed(self, principal: Principal, job_id: UUID | None) -> None:
        """Ask the application's own rule, as every operation does."""
        hooks = self._access.hooks
        if hooks.authorize is None:
            return
        job = None if job_id is None else await self._app.link.aperform(find_job(job_id))
        if not await hooks.allows(principal, ACTION, None if job is None else JobFacts.of(job)):
            raise Refusal(problems.FORBIDDEN, "this application does not let you do that")


def routes(app: "Holdfast", access: Access) -> list[Route]:
    """Make the route of the stream."""
    return [Route("/api/v1/events", Events(app, access))]
