"""`holdfast alert`: what was found, who was told, and whether a channel works."""

import asyncio
from dataclasses import asdict
from typing import Any
from uuid import UUID

import click

from holdfast.interfaces.cli.commands import NOT_FOUND, Command, Group
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import Column, badge, clock_time, dim, emit, emit_one, plain


@click.group(cls=Group)
def alert() -> None:
    """List and show alerts, mute rules, test channels."""


@alert.command("list", cls=Command)
@click.option("--all", "all_", is_flag=True, help="Closed ones too.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many.")
def list_(all_: bool, limit: int) -> None:
    """List alerts, newest first: those that are open, or all."""
    from holdfast.domain.sentence import ago
    from holdfast.store.alert import alerts

    found = current().link.perform_once(alerts(only_open=not all_, limit=limit))
    columns = [Column("ID"), Column("STATE"), Column("SEVERITY"), Column("RULE"), Column("SINCE"), Column("MESSAGE")]  # fmt: skip
    cells = [
        [
            str(each.id),
            badge("open" if each.is_open else "closed"),
            each.severity,
            plain(each.rule),
            ago(each.opened_at, each.now),
            plain(each.message),
        ]
        for each in found
    ]
    empty = "no alert" if all_ else "no alert is open; --all lists closed ones too"
    emit([_as_json(each) for each in found], columns, cells, empty)


@alert.command(cls=Command)
@click.argument("alert_id", type=click.UUID)
def show(alert_id: UUID) -> None:
    """Show one alert and the messages that told of it."""
    from holdfast.store.alert import alerts, notifications

    found = current().link.perform_once(alerts(alert_id=alert_id))
    if not found:
        say(f"no alert has the id {alert_id}; holdfast alert list --all shows them")
        raise click.exceptions.Exit(NOT_FOUND)
    one = found[0]
    told = current().link.perform_once(notifications(alert_id))
    lines = [
        f"{badge('open' if one.is_open else 'closed')}  {click.style(plain(one.message), bold=True)}",
        f"rule {plain(one.rule)} ({one.severity}), about {plain(one.about)}",
        f"opened {clock_time(one.opened_at)}, last seen {clock_time(one.last_seen_at)}"
        + (f", closed {clock_time(one.closed_at)}" if one.closed_at else ""),
        *([f"job {one.job_id}: holdfast job show {one.job_id}"] if one.job_id else []),
        *(
            f"  {badge(each.state)}  {each.kind} to {plain(each.channel)}  {dim(f'job {each.job_id}')}"
            for each in told
        ),
    ]
    emit_one({**_as_json(one), "notifications": [asdict(each) for each in told]}, lines)


@alert.command(cls=Command)
def rules() -> None:
    """List the rules that are watched."""
    from holdfast.store.alert import alert_rules

    found = current().link.perform_once(alert_rules())
    columns = [Column("RULE"), Column("KIND"), Column("SEVERITY"), Column("CHANNELS"), Column("OPEN", "right"), Column("STATUS")]  # fmt: skip
    cells = [
        [
            plain(each["name"]),
            each["kind"],
            each["severity"],
            plain(", ".join(each["channels"])) or dim("none"),
            str(each["open"]),
            "watched" if each["enabled"] else click.style("muted", fg="yellow"),
        ]
        for each in found
    ]
    emit(found, columns, cells, "no rule is declared: app.alerts.rule(…), and start a worker of that app")


@alert.command(cls=Command)
@click.argument("rule")
def mute(rule: str) -> None:
    """Let a rule find nothing until it is unmuted; deployments do not change that."""
    _set_muted(rule, muted=True)


@alert.command(cls=Command)
@click.argument("rule")
def unmute(rule: str) -> None:
    """Watch a muted rule again."""
    _set_muted(rule, muted=False)


def _set_muted(rule: str, *, muted: bool) -> None:
    from holdfast.store.alert import mute_rule

    if not current().link.perform(mute_rule(rule, muted=muted)):
        say(f"no alert rule is called {plain(rule)}; holdfast alert rules lists them")
        raise click.exceptions.Exit(NOT_FOUND)
    status = "muted" if muted else "watched"
    emit_one({"name": rule, "status": status}, [f"rule {plain(rule)} is {status}"])


@alert.command(cls=Command)
@click.argument("channel")
@click.option("--to", help="An address, for an e-mail channel; otherwise the channel's own recipients.")
def test(channel: str, to: str | None) -> None:
    """Send a real test message through a channel of your app, from here and now."""
    app = current().require_app()
    if channel not in app.alerts.channels:
        known = ", ".join(sorted(app.alerts.channels)) or "none"
        say(f"the app has no channel called {plain(channel)}; it has: {plain(known)}")
        raise click.exceptions.Exit(NOT_FOUND)
    message_id = asyncio.run(app.alerts.test(channel, to))
    emit_one({"id": message_id, "channel": channel}, [f"channel {plain(channel)} took message {message_id}"])


def _as_json(one: Any) -> dict[str, Any]:
    told = {**asdict(one), "status": "open" if one.is_open else "closed"}
    del told["now"]
    return told
