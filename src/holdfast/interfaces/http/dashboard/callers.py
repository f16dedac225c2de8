"""Settings of who may come: keys of programs, people with passwords. For admins alone."""

from datetime import timedelta
from typing import Any

from holdfast.domain.access import Role, Scope
from holdfast.interfaces.http.api.keys import (
    KeysQuery,
    NewKeyBody,
    NewKeyView,
    RevokeBody,
    RotateBody,
    create_key,
    list_keys,
    revoke_key,
    rotate_key,
)
from holdfast.interfaces.http.api.people import (
    NewPersonBody,
    PasswordBody,
    RoleBody,
    add_person,
    disable_person,
    enable_person,
    list_people,
    set_password,
    set_role,
)
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard import setting_forms as forms
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.page import Asked, Done, Page, Shown
from holdfast.interfaces.http.dashboard.settings import settings
from holdfast.interfaces.http.problem import INVALID, Refusal
from holdfast.store.access import database_clock

__all__ = ["settings"]  # with the pages that are added here

SCOPES = {
    Scope.ENQUEUE: "put jobs in line",
    Scope.READ: "look at everything but secrets",
    Scope.OPERATE: "pause, retry, cancel, schedule",
    Scope.APPROVE: "decide what jobs ask",
    Scope.ADMIN: "everything, keys and people too",
}
ROLES = {
    Role.VIEWER: "looks",
    Role.APPROVER: "looks and decides",
    Role.OPERATOR: "looks, decides, enqueues and steers",
    Role.ADMIN: "does everything",
}


class KeysAsked(Asked):
    """Where the list goes on."""

    after: str | None = None


@settings.panel()
async def key_list(look: Look, asked: KeysAsked) -> dict[str, Any]:
    """List the keys."""
    found = await look.at(list_keys, KeysQuery(after=asked.after or None))
    return {"keys": found.items, "next": found.next, "scopes": SCOPES}


@settings.panel()
async def person_list(look: Look) -> dict[str, Any]:
    """List the people."""
    return {"people": (await look.at(list_people)).items, "roles": ROLES}


settings.page("/settings/keys", "Keys", key_list, asked=KeysAsked)
settings.page("/settings/people", "People", person_list)

# Shown once, in the answer to the form: it has no address of its own.
_MADE = Page("/settings/keys", "key_made", "A new key", "settings", (), Asked)


def _made(key: NewKeyView, instead_of: str | None) -> Shown:
    return Shown(_MADE, {"key": key, "instead_of": instead_of})


@settings.action("/settings/keys/create")
async def make_key(look: Look, form: forms.NewKeyForm) -> Shown:
    """Make a key, and show it once."""
    if not form.scopes:
        raise Refusal(INVALID, "tick at least one thing that the key may do")
    expires_at = None
    if form.days is not None:
        expires_at = await look.call.ask(database_clock()) + timedelta(days=form.days)
    body = NewKeyBody(name=form.name, scopes=form.scopes, tenant=form.tenant, expires_at=expires_at)
    return _made(await look.at(create_key, body), None)


@settings.action("/settings/keys/rotate")
async def replace_key(look: Look, form: forms.RotateKeyForm) -> Shown:
    """Make a key in another's place, and show it once."""
    overlap = timedelta(hours=form.hours).total_seconds()
    made = await look.at(rotate_key, form.id, RotateBody(overlap=overlap, reason=form.reason))
    return _made(made, form.id)


@settings.action("/settings/keys/revoke")
async def end_key(look: Look, form: forms.RevokeKeyForm) -> Done:
    """End a key."""
    key = await look.at(revoke_key, form.id, RevokeBody(reason=form.reason))
    return Done(f"Key {key.name} is revoked: it opens nothing any more.", "/settings/keys")


@settings.action("/settings/people/add")
async def add(look: Look, form: forms.NewPersonForm) -> Done:
    """Add somebody."""
    body = NewPersonBody(password=form.password, role=form.role, tenant=form.tenant)
    person = await look.at(add_person, form.name, body)
    return Done(f"{person.name} is {person.role} now.", "/settings/people")


@settings.action("/settings/people/role")
async def change_role(look: Look, form: forms.RoleForm) -> Done:
    """Give somebody another role."""
    person = await look.at(set_role, form.name, RoleBody(role=form.role, tenant=form.tenant))
    return Done(
        f"{person.name} is {person.role} of {person.tenant or 'all tenants'} now.", "/settings/people"
    )


@settings.action("/settings/people/password")
async def change_password(look: Look, form: forms.PasswordForm) -> Done:
    """Give somebody another password."""
    person = await look.at(set_password, form.name, PasswordBody(password=form.password))
    return Done(f"{person.name} has another password now, and no session.", "/settings/people")


@settings.action("/settings/people/disable")
async def disable(look: Look, form: forms.NamedForm) -> Done:
    """Let somebody in no more."""
    person = await look.at(disable_person, form.name, ReasonBody(reason=form.reason))
    return Done(f"{person.name} gets in no more.", "/settings/people")


@settings.action("/settings/people/enable")
async def enable(look: Look, form: forms.NamedForm) -> Done:
    """Let somebody in again."""
    person = await look.at(enable_person, form.name, ReasonBody(reason=form.reason))
    return Done(f"{person.name} may come in again.", "/settings/people")
