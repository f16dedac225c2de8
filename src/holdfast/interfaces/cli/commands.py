"""Commands that take the global options anywhere on the line, load lazily, and end with the promised exit codes."""

import importlib
import os
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from holdfast.domain import errors
from holdfast.domain.audit import AuditUnfinished
from holdfast.interfaces.cli.invocation import Invocation
from holdfast.runtime.garbage import seldom

FAILURE = 1
USAGE = 2
UNHEALTHY = 3
NOT_FOUND = 4
CONFLICT = 5
UNAVAILABLE = 69
UNFINISHED = 75
WAIT_FAILED = 10
WAIT_CANCELLED = 11
WAIT_TIMED_OUT = 12
FORCED = 130

_CODES: tuple[tuple[type[errors.HoldfastError], int], ...] = (
    (errors.DatabaseUnavailable, UNAVAILABLE),
    (AuditUnfinished, UNFINISHED),
    (errors.SchemaMismatch, UNHEALTHY),
    (errors.JobNotFound, NOT_FOUND),
    (errors.UnknownTask, NOT_FOUND),
    (errors.TooManyJobs, CONFLICT),
    (errors.ScheduleNotFound, NOT_FOUND),
    (errors.ScheduleExists, CONFLICT),
    (errors.KeyNotFound, NOT_FOUND),
    (errors.KeyRefused, CONFLICT),
    (errors.PersonNotFound, NOT_FOUND),
    (errors.PersonExists, CONFLICT),
    (errors.ApprovalNotFound, NOT_FOUND),
    (errors.DeliveryNotFound, NOT_FOUND),
    (errors.ApprovalClosed, CONFLICT),
    (errors.IllegalMove, CONFLICT),
    (errors.Unchangeable, CONFLICT),
    (errors.NotRetryable, CONFLICT),
    (errors.QuotaReached, CONFLICT),
    (errors.DuplicateKey, CONFLICT),
    (errors.IdReused, CONFLICT),
    (errors.LimitReached, CONFLICT),
    (errors.WaitTimedOut, WAIT_TIMED_OUT),
    (errors.Configuration, USAGE),
    (errors.BadInput, USAGE),
)


def exit_code(error: errors.HoldfastError) -> int:
    """Tell which exit code an error has."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILURE)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if context.get_parameter_source(option.name or "") is not ParameterSource.COMMANDLINE:
        return
    invocation = context.ensure_object(Invocation)
    match option.name:
        case "app" | "database_url":
            invocation.flags[option.name] = value
        case "no_color":
            context.find_root().color = context.color = False
        case name:
            setattr(invocation, str(name), value)


def _global_options(hidden: bool) -> list[click.Option]:
    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_remember, hidden=hidden, **settings)

    return [
        option("-a", "--app", metavar="MODULE:ATTR", help="Your app, e.g. shop.jobs:app (HOLDFAST_APP)."),
        option(
            "--database-url", metavar="URL", help="The database (HOLDFAST_DATABASE_URL, DATABASE_URL, PG*)."
        ),
        option(
            "-o",
            "--output",
            type=click.Choice(["table", "json", "jsonl", "id"]),
            help="How to write data [table].",
        ),
        option("-q", "--quiet", is_flag=True, help="Say only what went wrong."),
        option("-v", "--verbose", is_flag=True, help="Say more: tracebacks, all columns."),
        option("--no-color", is_flag=True, help="No colours (NO_COLOR)."),
        option("-y", "--yes", is_flag=True, help="Do not ask."),
    ]


def _with_globals(own: list[click.Parameter], hidden: bool) -> list[click.Parameter]:
    taken = {name for parameter in own for name in parameter.opts}
    given = _global_options(hidden)
    for option in given:
        # A command's own -q wins over the global one, whose long name stays.
        option.opts = [name for name in option.opts if name not in taken]
    return [*own, *(option for option in given if option.opts)]


class Command(click.Command):
    """A command that takes the global options too."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Give its own options and the global ones."""
        return _with_globals(super().get_params(ctx), hidden=True)


class Group(click.Group):
    """A group that takes the global options, loads its commands when they run, and turns errors into exit codes."""

    command_class = Command
    group_class = type

    def __init__(
        self, *arguments: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self._lazy = lazy or {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Give its own options and the global ones."""
        return _with_globals(super().get_params(ctx), hidden=ctx.parent is not None)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands, loaded or not."""
        return sorted([*super().list_commands(ctx), *self._lazy])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._lazy[cmd_name][0].partition(":")
        with seldom():
            command: click.Command = getattr(
                importlib.import_module(f"holdfast.interfaces.cli.{module}"), name
            )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List lazy commands by the help text written beside them."""
        if not self._lazy:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lazy[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run; an expected error is a sentence and an exit code, never a traceback."""
        if ctx.parent is not None:
            return super().invoke(ctx)
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        return _answered(ctx, super().invoke)


def _answered(ctx: click.Context, invoke: Callable[[click.Context], Any]) -> Any:
    try:
        return invoke(ctx)
    except errors.HoldfastError as error:
        if ctx.ensure_object(Invocation).verbose:
            click.echo("".join(traceback.format_exception(error)), err=True)
        click.echo(f"{click.style('error:', fg='red', bold=True)} {error}", err=True)
        ctx.exit(exit_code(error))
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        ctx.exit(FORCED)
    finally:
        ctx.ensure_object(Invocation).close()
