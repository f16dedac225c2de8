"""Writing answers: tables for people, JSON for programs, ids for pipes. Data on stdout, always."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias
from uuid import UUID

import click

from holdfast.domain.states import Status
from holdfast.interfaces.cli.invocation import current

_LOOKS: dict[str, tuple[str, str | None]] = {
    "PENDING": ("○", None),
    "RUNNING": ("▶", "blue"),
    "RETRY": ("↻", "yellow"),
    "WAITING_FOR_APPROVAL": ("?", "magenta"),
    "WAITING": ("…", "cyan"),
    "COMPLETED": ("✓", "green"),
    "FAILED": ("✗", "red"),
    "CANCELLED": ("⊘", "bright_black"),
    "ok": ("✓", "green"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
    "live": ("✓", "green"),
    "late": ("!", "yellow"),
    "draining": ("◌", "yellow"),
    "dead": ("✗", "red"),
    "installed": ("✓", "green"),
    "missing": ("!", "yellow"),
    "open": ("!", "red"),
    "closed": ("✓", "green"),
    "waiting": ("…", "cyan"),
    "delivered": ("✓", "green"),
    "void": ("⊘", "bright_black"),
    "failed": ("✗", "red"),
    "handled": ("✓", "green"),
    "ignored": ("⊘", "bright_black"),
    "stopped": ("⊘", "bright_black"),
}
Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column: its title and the side its cells lean to."""

    title: str
    side: Side = "left"


def emit(
    rows: Sequence[dict[str, Any]], columns: Sequence[Column], cells: Sequence[Sequence[str]], empty: str
) -> None:
    """Write a list in the format that was asked for."""
    match current().output:
        case "json":
            click.echo(as_json(list(rows), indent=2))
        case "jsonl":
            for row in rows:
                click.echo(as_json(row))
        case "id":
            for row in rows:
                click.echo(str(row.get("id") or row.get("name")))
        case _ if not rows:
            click.echo(empty, err=True)
        case _:
            for line in table(columns, cells):
                click.echo(line)


def emit_one(value: dict[str, Any], lines: Iterable[str]) -> None:
    """Write one thing in the format that was asked for."""
    match current().output:
        case "json":
            click.echo(as_json(value, indent=2))
        case "jsonl":
            click.echo(as_json(value))
        case "id":
            click.echo(str(value.get("id") or value.get("name")))
        case _:
            for line in lines:
                click.echo(line)


def table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> Iterable[str]:
    """Lay cells out in columns as wide as they must be."""
    widths = [
        max([len(column.title), *(len(click.unstyle(row[n])) for row in cells)])
        for n, column in enumerate(columns)
    ]
    titles = [click.style(column.title, bold=True) for column in columns]
    for row in [titles, *cells]:
        placed = [_placed(cell, w, c.side) for cell, c, w in zip(row, columns, widths, strict=True)]
        yield "  ".join(placed).rstrip()


def _placed(text: str, width: int, side: Side) -> str:
    room = " " * (width - len(click.unstyle(text)))
    return room + text if side == "right" else text + room


def badge(word: Status | str) -> str:
    """Write a state as symbol and word; colour comes on top, never alone."""
    symbol, colour = _LOOKS[str(word)]
    return click.style(f"{symbol} {word}", fg=colour)


def dim(text: str) -> str:
    """Write something of less weight."""
    return click.style(text, dim=True)


def plain(text: object) -> str:
    """Write what came from outside so that it can neither break a line nor steer the terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in str(text)
    )


def clock_time(at: datetime) -> str:
    """Write a moment in this machine's zone."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def as_json(value: Any, indent: int | None = None) -> str:
    """Write JSON as programs expect it: ISO times, ids as text, durations in seconds."""
    return json.dumps(value, default=_plain_value, indent=indent, ensure_ascii=False)


def _plain_value(value: object) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")
