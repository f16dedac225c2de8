"""What the forms of the settings bring."""

from typing import Annotated, Literal

from pydantic import Field

from holdfast.domain.access import Role, Scope
from holdfast.interfaces.http.dashboard.page import Form

Words = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, Field(min_length=1, max_length=500)]
Ticked = Literal["on"] | None


class ChannelForm(Form):
    """Which channel."""

    name: Words


class NamedForm(ChannelForm):
    """Of which thing, and why."""

    reason: Reason


class FlagForm(NamedForm):
    """What a flag is to be."""

    state: Literal["on", "off"]
    percent: Annotated[int, Field(ge=0, le=100)] | None = None


class NewKeyForm(Form):
    """A key to make; each scope is a tick of its own."""

    name: Words
    tenant: Words | None = None
    days: Annotated[int, Field(ge=1, le=3650)] | None = None
    enqueue: Ticked = None
    read: Ticked = None
    operate: Ticked = None
    approve: Ticked = None
    admin: Ticked = None

    @property
    def scopes(self) -> list[Scope]:
        """The scopes that were ticked."""
        return [scope for scope in Scope if getattr(self, scope.value)]


class RevokeKeyForm(Form):
    """Which key, and why."""

    id: Annotated[str, Field(max_length=20)]
    reason: Reason


class RotateKeyForm(RevokeKeyForm):
    """Which key, why, and how long the old one counts beside the new."""

    hours: Annotated[int, Field(ge=0, le=720)] = 24


class RoleForm(Form):
    """Who is to be what, and for which tenant."""

    name: Words
    role: Role
    tenant: Words | None = None


class NewPersonForm(RoleForm):
    """Somebody to add."""

    password: Annotated[str, Field(max_length=1000)]


class PasswordForm(Form):
    """Whose password, and which."""

    name: Words
    password: Annotated[str, Field(max_length=1000)]


class TenantForm(Form):
    """Whose things to look at; nothing is everybody's."""

    tenant: Annotated[str, Field(max_length=200, pattern=r"^[^\x00*]+$")] | None = None
