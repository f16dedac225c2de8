"""`holdfast flag`: kill switches and rollouts, switched at run time."""

from dataclasses import asdict

import click

from holdfast.interfaces.cli.commands import Command, Group
from holdfast.interfaces.cli.invocation import actor, current, say
from holdfast.interfaces.cli.output import Column, clock_time, dim, emit, emit_one, plain

_ALL = 100


@click.group(cls=Group)
def flag() -> None:
    """List and set flags: what is off holds its jobs back, and they run when it is on again."""


@flag.command("list", cls=Command)
def list_() -> None:
    """List flags, those that only tasks name too: they are on."""
    from holdfast.store.limits import flags

    found = current().link.perform_once(flags())
    columns = [
        Column("FLAG"),
        Column("STATUS"),
        Column("TASKS"),
        Column("SET BY"),
        Column("AT"),
        Column("WHY"),
    ]
    cells = [
        [
            plain(each.name),
            each.status if each.status == "on" else click.style(each.status, fg="yellow"),
            plain(", ".join(each.tasks)) or dim("-"),
            dim("-") if each.set_by is None else plain(each.set_by),
            dim("-") if each.at is None else clock_time(each.at),
            plain(each.reason or ""),
        ]
        for each in found
    ]
    rows = [{**asdict(each), "status": each.status} for each in found]
    for row in rows:
        del row["now"]
    emit(rows, columns, cells, 'no flag was set yet and no task names one: @app.task(flag="NAME")')


@flag.command("set", cls=Command)
@click.argument("name")
@click.argument("value", metavar="on|off|PERCENT")
@click.option("--reason", help="Why; shown wherever jobs wait for it.")
@click.option("--actor", "who", help="Who [your user name].")
def set_(name: str, value: str, reason: str | None, who: str | None) -> None:
    """Switch a flag on for all, off, or on for a share of keys (25 or 25%)."""
    from holdfast.store.limits import flags, set_flag

    percent = _share(value)
    known = {each.name: each for each in current().link.perform_once(flags())}
    if not (name in known and known[name].tasks):
        say(f"note: no registered task has the flag {plain(name)}")
    current().link.perform(
        set_flag(name, enabled=value != "off", percent=percent, actor=actor(who), reason=reason)
    )
    told = "off" if value == "off" else "on" if percent == _ALL else f"on for {percent} %"
    emit_one({"name": name, "status": told}, [f"flag {plain(name)} is {told}"])


def _share(value: str) -> int | None:
    match value:
        case "off":
            return None  # and back on it is for as many as before
        case "on":
            return _ALL
        case _ if value.removesuffix("%").isdecimal() and int(value.removesuffix("%")) <= _ALL:
            return int(value.removesuffix("%"))
        case _:
            raise click.UsageError(f"{value!r} is neither on nor off nor a share from 0 to 100")
