"""`holdfast key`: what programs come with."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from holdfast.domain.access import Scope
from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, confirm, current, say
from holdfast.interfaces.cli.moments import Duration, Moment
from holdfast.interfaces.cli.output import Column, clock_time, dim, emit, emit_one, plain

if TYPE_CHECKING:
    from holdfast.store.access import KeyRecord

_COLOURS = {"active": "green", "expired": "bright_black", "revoked": "red"}
_MOST = 10_000


@click.group(cls=Group)
def key() -> None:
    """Create, list, rotate and revoke keys of the HTTP API."""


@key.command(cls=Command)
@click.argument("name")
@click.option(
    "--scope", "scopes", type=click.Choice([each.value for each in Scope]), multiple=True, required=True, help="What it may do; may be repeated."
)  # fmt: skip
@click.option("--tenant", help="Bind it to a tenant; without one it reaches all.")
@click.option("--expires", type=Moment(), metavar="TIME", help="When it ends, e.g. 2030-01-31T10:00Z.")
@click.option("--expires-in", type=Duration(), metavar="TIME", help="How long it lasts, e.g. 90d.")
@click.option("--actor", "who", help="Who [your user name].")
def create(
    name: str,
    scopes: tuple[str, ...],
    tenant: str | None,
    expires: datetime | None,
    expires_in: timedelta | None,
    who: str | None,
) -> None:
    """Create a key and print it: nobody sees it again."""
    from holdfast.runtime.access import create_key

    written = create_key(
        current(), name, scopes=[Scope(each) for each in scopes], tenant=tenant,
        expires_at=_end(expires, expires_in), actor=actor(who),
    )  # fmt: skip
    _tell(written)


@key.command("list", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Those that count no more, too.")
def list_(everything: bool) -> None:
    """List keys, newest first."""
    from holdfast.store.access import list_keys

    found = current().link.perform_once(list_keys(None, None, _MOST))
    shown = [each for each in found if everything or each.counts]
    titles = ["ID", "KEY", "TENANT", "SCOPES", "STATUS", "USED", "EXPIRES", "CREATED BY"]
    emit(
        [_as_json(each) for each in shown],
        [Column(title) for title in titles],
        [_cells(each) for each in shown],
        "no key yet: holdfast key create NAME --scope enqueue",
    )


@key.command(cls=Command)
@click.argument("key_id", metavar="ID")
@click.option(
    "--overlap", type=Duration(), default="1d", show_default=True, help="How long the old one still counts."
)
@click.option(
    "--expires-in", type=Duration(), metavar="TIME", help="How long the new one lasts [as the old one]."
)
@click.option("--actor", "who", help="Who [your user name].")
def rotate(key_id: str, overlap: timedelta, expires_in: timedelta | None, who: str | None) -> None:
    """Replace a key by another like it and print that: nobody sees it again. The old one counts a while longer."""
    from holdfast.runtime.access import rotate_key

    written = rotate_key(
        current(), key_id, overlap=overlap, expires_at=_end(None, expires_in), actor=actor(who)
    )
    _tell(written)


@key.command(cls=Command)
@click.argument("key_id", metavar="ID")
@click.option("--reason", help="Why, for the audit.")
@click.option("--actor", "who", help="Who [your user name].")
def revoke(key_id: str, reason: str | None, who: str | None) -> None:
    """End a key at once, and for ever."""
    from holdfast.runtime.access import revoke_key

    confirm(f"Revoke key {plain(key_id)}? Whoever uses it is out at once.")
    counted = revoke_key(current(), key_id, reason=reason, actor=actor(who))
    told = "is revoked" if counted else "counted no more already"
    emit_one({"id": key_id, "revoked": counted}, [f"key {plain(key_id)} {told}"])


def _end(at: datetime | None, after: timedelta | None) -> datetime | None:
    from datetime import UTC

    if at is not None and after is not None:
        raise click.UsageError("--expires and --expires-in say the same: give one of them")
    return datetime.now(UTC) + after if after is not None else at


def _tell(written: str) -> None:
    emit_one({"id": written.split("_")[1], "key": written}, [written])
    say("keep it now: only its digest is stored, and it cannot be shown again")


def _as_json(record: "KeyRecord") -> dict[str, Any]:
    told = {**record._asdict(), "status": record.status}
    del told["counts"]
    return told


def _cells(record: "KeyRecord") -> list[str]:
    return [
        record.id,
        plain(record.name),
        dim("all") if record.tenant is None else plain(record.tenant),
        " ".join(record.scopes),
        click.style(record.status, fg=_COLOURS[record.status]),
        dim("never") if record.used_at is None else clock_time(record.used_at),
        dim("never") if record.expires_at is None else clock_time(record.expires_at),
        plain(record.created_by),
    ]
