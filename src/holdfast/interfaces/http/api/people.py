"""/people: who comes with a password, and what they may do. No answer has anything of a password."""

import asyncio
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from holdfast.domain.access import Role, Scope
from holdfast.domain.errors import PersonNotFound
from holdfast.domain.people import LONGEST_PASSWORD, refuse_weak_password, require_name
from holdfast.interfaces.http.api.words import Name, ReasonBody
from holdfast.interfaces.http.operation import ApiCall, Body, Operations, View
from holdfast.interfaces.http.problem import CONFLICT, NOT_FOUND, Refusal
from holdfast.runtime.passwords import Passwords
from holdfast.store import people as store

people = Operations("people")

Password = Annotated[str, Field(min_length=1, max_length=LONGEST_PASSWORD)]


class PersonView(View):
    """Somebody who comes with a password."""

    name: str
    role: Role
    tenant: str | None
    status: Literal["enabled", "disabled"]
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    signed_in_at: datetime | None
    sessions: int


class PeopleView(View):
    """Everybody, by name."""

    items: list[PersonView]


class RoleBody(Body):
    """What somebody is to be, and for which tenant; without one, for all."""

    role: Annotated[Role, Field(strict=False)]
    tenant: Name | None = None


class NewPersonBody(RoleBody):
    """Somebody to add."""

    password: Password


class PasswordBody(Body):
    """A password in the place of another."""

    password: Password


@people.get("/people", scope=Scope.ADMIN, for_all=True)
async def list_people(call: ApiCall) -> PeopleView:
    """List everybody who comes with a password."""
    return PeopleView(items=await _all(call))


# By PUT, which keeps no answers: a kept answer keeps a digest of its request, which would be one of the password.
@people.put("/people/{name}", scope=Scope.ADMIN, for_all=True, problems=(CONFLICT,))
async def add_person(call: ApiCall, name: str, body: NewPersonBody) -> PersonView:
    """Add somebody; one who is there already is a conflict."""
    person = require_name(name)
    hashed = await _hashed(person, body.password)
    await call.ask(store.create_person(person, hashed, body.role, body.tenant, call.principal.name))
    await call.record("person.add", person, role=body.role, tenant=body.tenant)
    return await _person(call, person)


@people.put("/people/{name}/role", scope=Scope.ADMIN, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def set_role(call: ApiCall, name: str, body: RoleBody) -> PersonView:
    """Give somebody another role; it counts from their next request on."""
    person = (await _person(call, name)).name
    _refuse_oneself(call, person)
    await call.ask(store.set_role(person, body.role, body.tenant))
    await call.record("person.role", person, role=body.role, tenant=body.tenant)
    return await _person(call, person)


@people.put("/people/{name}/password", scope=Scope.ADMIN, for_all=True, problems=(NOT_FOUND,))
async def set_password(call: ApiCall, name: str, body: PasswordBody) -> PersonView:
    """Give somebody another password; all their sessions end."""
    person = (await _person(call, name)).name
    await call.ask(store.set_password(person, await _hashed(person, body.password)))
    await call.record("person.password", person)
    return await _person(call, person)


@people.post("/people/{name}/disable", scope=Scope.ADMIN, for_all=True, problems=(NOT_FOUND, CONFLICT))
async def disable_person(call: ApiCall, name: str, body: ReasonBody) -> PersonView:
    """Let somebody in no more; all their sessions end."""
    person = (await _person(call, name)).name
    _refuse_oneself(call, person)
    if await call.ask(store.disable_person(person)):
        await call.record("person.disable", person, body.reason)
    return await _person(call, person)


@people.post("/people/{name}/enable", scope=Scope.ADMIN, for_all=True, problems=(NOT_FOUND,))
async def enable_person(call: ApiCall, name: str, body: ReasonBody) -> PersonView:
    """Let somebody in again."""
    person = (await _person(call, name)).name
    if await call.ask(store.enable_person(person)):
        await call.record("person.enable", person, body.reason)
    return await _person(call, person)


async def _hashed(person: str, password: str) -> str:
    refuse_weak_password(person, password)
    return await asyncio.to_thread(Passwords().hashed, password)


def _refuse_oneself(call: ApiCall, person: str) -> None:
    # Whoever locks themselves out may be the last who could let anybody in.
    if call.principal.name == person:
        raise Refusal(CONFLICT, "this is you: let another admin do it, or use the command line")


async def _all(call: ApiCall) -> list[PersonView]:
    return [
        PersonView(
            **{name: getattr(each, name) for name in PersonView.model_fields if name != "status"},
            status="enabled" if each.disabled_at is None else "disabled",
        )
        for each in await call.ask(store.list_people())
    ]


async def _person(call: ApiCall, name: str) -> PersonView:
    wanted = require_name(name)
    for each in await _all(call):
        if each.name == wanted:
            return each
    raise PersonNotFound(f"nobody is called {wanted!r}")
