"""/views and /shared-views: lists of jobs that people come back to."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import ViewNotFound
from holdfast.domain.search import LONGEST, parse
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, View
from holdfast.interfaces.http.problem import NOT_FOUND
from holdfast.store import views as store

views = Operations("views")

Reach: TypeAlias = Literal["1h", "24h", "7d", "30d", "all"]


class ViewBody(Body):
    """What a view shows: jobs that fit q, created within the range, with these columns."""

    q: Annotated[str, Field(max_length=LONGEST, pattern=r"^[^\x00]*$")] = ""
    columns: Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")] = ""
    range: Reach = "7d"


class SavedView(View):
    """A view: one's own, or shared by everybody who sees the same tenant."""

    name: str
    is_shared: bool
    q: str
    columns: str
    range: Reach
    saved_by: str
    saved_at: datetime

    @classmethod
    def of(cls, view: store.SavedView) -> "SavedView":
        """Show a view."""
        return cls.model_validate({**view._asdict(), "q": view.search, "range": view.reach})


class SavedViews(View):
    """Views, one's own first."""

    items: list[SavedView]


async def _found(call: ApiCall) -> list[SavedView]:
    found = await call.ask(store.saved_views(call.principal.tenant, call.principal.name))
    return [SavedView.of(each) for each in found]


async def _kept(call: ApiCall, name: str, body: ViewBody, owner: str | None) -> SavedView:
    parse(body.q)  # nobody comes back to a search that means nothing
    who = call.principal
    await call.ask(store.save_view(who.tenant, owner, name, body.q, body.columns, body.range, who.name))
    is_shared = owner is None
    return next(each for each in await _found(call) if each.name == name and each.is_shared is is_shared)


async def _gone(call: ApiCall, name: str, owner: str | None) -> None:
    if not await call.ask(store.delete_view(call.principal.tenant, owner, name)):
        raise ViewNotFound(f"there is no view {name!r} here")


@views.get("/views")
async def list_views(call: ApiCall) -> SavedViews:
    """List your own views, and those that are shared."""
    return SavedViews(items=await _found(call))


@views.put("/views/{name}", scope=Scope.READ)
async def save_view(call: ApiCall, name: str, body: ViewBody) -> SavedView:
    """Keep a view for yourself; one of the same name is replaced."""
    return await _kept(call, name, body, call.principal.name)


@views.delete("/views/{name}", scope=Scope.READ, problems=(NOT_FOUND,))
async def delete_view(call: ApiCall, name: str) -> SavedViews:
    """Delete a view of your own."""
    await _gone(call, name, call.principal.name)
    return await list_views(call)


@views.put("/shared-views/{name}", scope=Scope.OPERATE)
async def share_view(call: ApiCall, name: str, body: ViewBody) -> SavedView:
    """Keep a view for everybody who sees the same tenant; one of the same name is replaced."""
    kept = await _kept(call, name, body, None)
    await call.record("view.share", name, q=body.q)
    return kept


@views.delete("/shared-views/{name}", scope=Scope.OPERATE, problems=(NOT_FOUND,))
async def delete_shared_view(call: ApiCall, name: str) -> SavedViews:
    """Delete a view that is shared."""
    await _gone(call, name, None)
    await call.record("view.delete", name)
    return await list_views(call)
