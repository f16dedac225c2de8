"""/keys: what programs come with. A key's secret is in the answer that made it, and nowhere else."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from holdfast.domain.access import Scope
from holdfast.domain.errors import KeyNotFound
from holdfast.interfaces.http.api.words import Name
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, Page, Query, View
from holdfast.interfaces.http.problem import CONFLICT, NOT_FOUND
from holdfast.runtime.access import OVERLAP, new_key
from holdfast.store import access

keys = Operations("keys")

_LONGEST_OVERLAP = 30 * 86400


class KeyView(View):
    """A key, without its secret."""

    id: str
    name: str
    tenant: str | None
    scopes: list[Scope]
    status: Literal["active", "expired", "revoked"]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class NewKeyView(KeyView):
    """A key that was just made. A repeat of the request is answered without the key itself: it is kept nowhere."""

    key: str | None


class KeysPage(Page):
    """Keys, newest first."""

    items: list[KeyView]


class KeysQuery(Query):
    """Which part of the list, and whose keys."""

    tenant: Name | None = None
    after: Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,20}$")] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class NewKeyBody(Body):
    """A key to make."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))]
    tenant: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    expires_at: AwareDatetime | None = None


class RotateBody(Body):
    """How to replace a key."""

    overlap: Annotated[
        float, Field(ge=0, le=_LONGEST_OVERLAP, description="seconds that the old key still counts")
    ] = OVERLAP.total_seconds()
    expires_at: AwareDatetime | None = None
    reason: Annotated[str, Field(max_length=500)] | None = None


class RevokeBody(Body):
    """Why a key is ended, for the audit."""

    reason: Annotated[str, Field(max_length=500)] | None = None


@keys.get("/keys", scope=Scope.ADMIN, problems=(NOT_FOUND,))
async def list_keys(call: ApiCall, query: KeysQuery) -> KeysPage:
    """List keys, the newest first; of one tenant, or all."""
    found = await call.ask(access.list_keys(call.require_tenant(query.tenant), query.after, query.limit + 1))
    shown = found[: query.limit]
    return KeysPage(
        items=[KeyView.model_validate(each) for each in shown],
        next=shown[-1].id if len(found) > query.limit else None,
    )


@keys.get("/keys/{key_id}", scope=Scope.ADMIN, problems=(NOT_FOUND,))
async def show_key(call: ApiCall, key_id: str) -> KeyView:
    """Show a key."""
    return KeyView.model_validate(await _record(call, key_id))


@keys.post("/keys", scope=Scope.ADMIN, status=HTTPStatus.CREATED, problems=(CONFLICT,), told_once="key")
async def create_key(call: ApiCall, body: NewKeyBody) -> NewKeyView:
    """Make a key; two of one name count at most."""
    key, tenant, scopes = new_key(), call.require_tenant(body.tenant), frozenset(body.scopes)
    await call.ask(access.create_key(key, body.name, tenant, scopes, body.expires_at, call.principal.name))
    await call.record("key.create", key.id, name=body.name, tenant=tenant, scopes=sorted(scopes))
    return await _made(call, key.id, key.written)


@keys.post(
    "/keys/{key_id}/rotate",
    scope=Scope.ADMIN,
    status=HTTPStatus.CREATED,
    problems=(NOT_FOUND, CONFLICT),
    told_once="key",
)
async def rotate_key(call: ApiCall, key_id: str, body: RotateBody) -> NewKeyView:
    """Replace a key by another like it; the old one counts a while longer."""
    key, overlap = new_key(), timedelta(seconds=body.overlap)
    await call.ask(
        access.rotate_key(key_id, call.principal.tenant, key, overlap, body.expires_at, call.principal.name)
    )
    await call.record("key.rotate", key_id, body.reason, new=key.id, overlap=body.overlap)
    return await _made(call, key.id, key.written)


@keys.post("/keys/{key_id}/revoke", scope=Scope.ADMIN, problems=(NOT_FOUND,))
async def revoke_key(call: ApiCall, key_id: str, body: RevokeBody) -> KeyView:
    """End a key at once, and for ever."""
    if await call.ask(access.revoke_key(key_id, call.principal.tenant)):
        await call.record("key.revoke", key_id, body.reason)
    return await show_key(call, key_id)


async def _record(call: ApiCall, key_id: str) -> access.KeyRecord:
    found = await call.ask(access.find_record(key_id, call.principal.tenant))
    if found is None:
        raise KeyNotFound(f"no key has the id {key_id!r}")
    return found


async def _made(call: ApiCall, key_id: str, written: str) -> NewKeyView:
    record = await _record(call, key_id)
    return NewKeyView(**KeyView.model_validate(record).model_dump(), key=written)
