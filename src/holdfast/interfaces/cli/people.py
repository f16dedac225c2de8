"""`holdfast user`: people who log in with a password."""

import sys
from dataclasses import asdict

import click

from holdfast.domain.access import Role
from holdfast.domain.errors import BadInput
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, current
from holdfast.interfaces.cli.output import Column, clock_time, dim, emit, emit_one, plain

_ROLES = click.Choice([each.value for each in Role])
# Not as an argument: arguments are in the shell's history and in every list of processes.
_FROM_STDIN = click.option(
    "--password-stdin", "from_stdin", is_flag=True, help="Read the password from standard input instead of asking."
)  # fmt: skip


@click.group(cls=Group)
def user() -> None:
    """Add and list people, give them roles and passwords, disable and enable them."""


@user.command(cls=Command)
@click.argument("name")
@click.option("--role", type=_ROLES, default="viewer", show_default=True)
@click.option("--tenant", help="Bind them to a tenant; without one they reach all.")
@_FROM_STDIN
@click.option("--actor", "who", help="Who adds them [your user name].")
def add(name: str, role: str, tenant: str | None, from_stdin: bool, who: str | None) -> None:
    """Add somebody; asks for their password."""
    from holdfast.runtime.access import add_person

    added = add_person(
        current(), name, _password(from_stdin), role=Role(role), tenant=tenant, actor=actor(who)
    )
    emit_one({"name": added, "role": role, "tenant": tenant}, [f"{plain(added)} is {role} now"])


@user.command("list", cls=Command)
def list_() -> None:
    """List everybody."""
    from holdfast.store.people import list_people

    found = current().link.perform_once(list_people())
    titles = ["NAME", "ROLE", "TENANT", "STATUS", "SESSIONS", "LAST LOGIN", "ADDED BY"]
    cells = [
        [
            plain(each.name),
            each.role,
            dim("all") if each.tenant is None else plain(each.tenant),
            "enabled" if each.disabled_at is None else click.style("disabled", fg="yellow"),
            str(each.sessions),
            dim("never") if each.signed_in_at is None else clock_time(each.signed_in_at),
            plain(each.created_by),
        ]
        for each in found
    ]
    emit(
        [asdict(each) for each in found],
        [Column(title) for title in titles],
        cells,
        "nobody yet: holdfast user add NAME --role admin",
    )


@user.command(cls=Command)
@click.argument("name")
@click.argument("role", type=_ROLES)
@click.option("--tenant", help="Bind them to a tenant; without one they reach all.")
@click.option("--actor", "who", help="Who does it [your user name].")
def role(name: str, role: str, tenant: str | None, who: str | None) -> None:
    """Give somebody another role; it counts from their next request on."""
    from holdfast.runtime.access import set_role

    set_role(current(), name, Role(role), tenant=tenant, actor=actor(who))
    reach = "all tenants" if tenant is None else f"tenant {plain(tenant)}"
    emit_one({"name": name, "role": role, "tenant": tenant}, [f"{plain(name)} is {role} of {reach} now"])


@user.command(cls=Command)
@click.argument("name")
@_FROM_STDIN
@click.option("--actor", "who", help="Who does it [your user name].")
def password(name: str, from_stdin: bool, who: str | None) -> None:
    """Give somebody another password; all their sessions end."""
    from holdfast.runtime.access import set_password

    set_password(current(), name, _password(from_stdin), actor=actor(who))
    emit_one({"name": name}, [f"{plain(name)} has another password now, and no session"])


@user.command(cls=Command)
@click.argument("name")
@click.option("--reason", help="Why, for the audit.")
@click.option("--actor", "who", help="Who does it [your user name].")
def disable(name: str, reason: str | None, who: str | None) -> None:
    """Let somebody in no more; all their sessions end."""
    from holdfast.runtime.access import disable_person

    was_enabled = disable_person(current(), name, reason=reason, actor=actor(who))
    told = "is disabled" if was_enabled else "was disabled already"
    emit_one({"name": name, "disabled": was_enabled}, [f"{plain(name)} {told}"])


@user.command(cls=Command)
@click.argument("name")
@click.option("--reason", help="Why, for the audit.")
@click.option("--actor", "who", help="Who does it [your user name].")
def enable(name: str, reason: str | None, who: str | None) -> None:
    """Let somebody in again."""
    from holdfast.runtime.access import enable_person

    was_disabled = enable_person(current(), name, reason=reason, actor=actor(who))
    told = "is enabled" if was_disabled else "was enabled already"
    emit_one({"name": name, "enabled": was_disabled}, [f"{plain(name)} {told}"])


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise BadInput("nobody can be asked for the password here: pass it with --password-stdin")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
