"""`holdfast events`: read a channel, or follow it."""

from typing import TYPE_CHECKING

import click

from holdfast.domain.feed import FeedEvent
from holdfast.interfaces.cli.commands import Command
from holdfast.interfaces.cli.invocation import current, say
from holdfast.interfaces.cli.output import as_json, clock_time, plain

if TYPE_CHECKING:
    from holdfast.runtime.feed import Feed


@click.command(cls=Command)
@click.argument("channel")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--after", type=click.IntRange(0), default=0, help="Behind this id: resume where you were.")
@click.option("--limit", type=click.IntRange(1), help="End after so many events.")
def events(channel: str, follow: bool, after: int, limit: int | None) -> None:
    """Read the events of CHANNEL: subject:NAME, tenant:NAME, or one your application publishes on.

    A tenant's events are kept from the first time that somebody reads its channel.
    """
    from holdfast.runtime.feed import Feed
    from holdfast.runtime.loop import run

    feed = Feed(current().link, channel, after)
    if follow:
        run(_follow(feed, limit))
        return
    number = 0
    for number, event in enumerate(feed, 1):
        _write(event)
        if number == limit:
            return
    if not number:
        say(f"channel {channel} has no events{f' after {after}' if after else ''}")


async def _follow(feed: "Feed", limit: int | None) -> None:
    number = 0
    async for event in feed:
        _write(event)
        number += 1
        if number == limit:
            break
    await current().link.aclose()


def _write(event: FeedEvent) -> None:
    value = {
        **event.data, "id": event.id, "kind": event.kind, "job_id": event.job_id, "at": event.at, "channel": event.channel,
    }  # fmt: skip
    match current().output:
        case "json" | "jsonl":
            click.echo(as_json(value))
        case "id":
            click.echo(str(event.id))
        case _:
            data = as_json(event.data)
            click.echo(
                f"{event.id:>6}  {clock_time(event.at)}  {plain(event.kind)}  {event.job_id or ''}  {data}"
            )
