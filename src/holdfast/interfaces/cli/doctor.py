"""`holdfast doctor`: is the queue stuck, and why."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from holdfast.interfaces.cli.commands import UNHEALTHY, Command
from holdfast.interfaces.cli.invocation import current
from holdfast.interfaces.cli.output import as_json, badge, plain

if TYPE_CHECKING:
    from holdfast.domain.health import Check

_WIDEST = len("warn")


@click.command(cls=Command)
def doctor() -> None:
    """Is the queue stuck, and why? Exit code 0 when all is well, 3 when something failed; -q says nothing then.

    HOLDFAST_REQUIRE_ROLES=1 makes a superuser's or single-role set-up a failure instead of a warning.
    """
    from holdfast.domain.health import Verdict
    from holdfast.interfaces.checks import examine

    invocation = current()
    required = invocation.settings.is_on("require_roles")
    checks = []
    for check in examine(lambda: invocation.database, roles_required=required):
        checks.append(check)
        if invocation.output == "table" and not (invocation.quiet and check.verdict is not Verdict.FAIL):
            _show(check)
    failed = any(check.verdict is Verdict.FAIL for check in checks)
    if invocation.output != "table" and not (invocation.quiet and not failed):
        _write(checks, healthy=not failed)
    if failed:
        raise click.exceptions.Exit(UNHEALTHY)


def _show(check: "Check") -> None:
    room = " " * (_WIDEST - len(check.verdict))
    click.echo(f"{badge(check.verdict)}{room}  {click.style(check.name, bold=True)}: {plain(check.found)}")
    if check.advice:
        click.echo(f"{' ' * (_WIDEST + 4)}→ {plain(check.advice)}")


def _write(checks: list["Check"], *, healthy: bool) -> None:
    if current().output == "json":
        click.echo(as_json({"healthy": healthy, "checks": [asdict(check) for check in checks]}, indent=2))
        return
    for check in checks:
        click.echo(as_json(asdict(check)) if current().output == "jsonl" else check.name)
