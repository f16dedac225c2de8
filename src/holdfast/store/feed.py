"""The event feed: read a channel behind an id, say that somebody reads it, publish an event of the application's own."""

from collections.abc import Callable

from holdfast.domain.feed import FeedEvent
from holdfast.store.call import Call, Row, function, nothing


def read_feed(channel: str, after: int, limit: int) -> Call[list[FeedEvent]]:
    """Read the events behind an id, oldest first."""
    return function(
        "read_feed", channel, after, limit, read=_events_of(channel), types=("text", "bigint", "int")
    )


def _events_of(channel: str) -> Callable[[list[Row]], list[FeedEvent]]:
    def read(rows: list[Row]) -> list[FeedEvent]:
        return [FeedEvent(channel, *row) for row in rows]

    return read


def open_channel(channel: str) -> Call[None]:
    """Say that somebody reads a channel."""
    return function("open_channel", channel, read=nothing, types=("text",))


def publish(channel: str, kind: str, data: str) -> Call[None]:
    """Publish an event whose data is JSON text."""
    return function("publish", channel, kind, data, read=nothing, types=("text", "text", "jsonb"))
