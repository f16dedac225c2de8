"""Alerts: registering rules, judging them, delivering what the outbox holds. Neither a secret nor a token ever comes here."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.domain.alert import Alert, Notification, Outbox
from holdfast.domain.job import ClaimedJob
from holdfast.store.call import Call, Row, function, nothing, query, single


class Judged(NamedTuple):
    """What a look at the rules did; all None when it was another's turn."""

    opened: int | None
    closed: int | None


class Channel(NamedTuple):
    """A way to tell people, by the name that rules know it by."""

    name: str
    kind: str


def register_alerts(
    app: str, channels: Sequence[dict[str, Any]], rules: Sequence[dict[str, Any]]
) -> Call[list[str]]:
    """Say what an app declares; answers the names that another app had."""
    return function(
        "register_alerts", app, json.dumps(list(channels)), json.dumps(list(rules)),
        read=lambda rows: [name for (name,) in rows], types=("text", "jsonb", "jsonb"),
    )  # fmt: skip


def evaluate_alerts() -> Call[Judged]:
    """Look at the rules that time decides, if nobody has just done so."""
    return function("evaluate_alerts", read=lambda rows: Judged(*rows[0]))


def notify(messages: str, declared: str | None) -> Call[None]:
    """Put messages of the application's own into the outbox; a repeat is known by their ids."""
    return function("notify", messages, declared, read=nothing, types=("jsonb", "jsonb"))


def begin_delivery(job: ClaimedJob, notification: UUID, token_hash: bytes) -> Call[dict[str, Any] | None]:
    """Learn what to send; None when there is nothing to send any more. An approver's token is replaced by this one."""
    return function(
        "begin_delivery", job.id, job.attempt, job.claim_id, notification, token_hash,
        read=lambda rows: None if rows[0][0] is None else json.loads(rows[0][0]), types=("", "", "", "uuid", "bytea"),
    )  # fmt: skip


def end_delivery(job: ClaimedJob, notification: UUID) -> Call[None]:
    """Say that it was sent."""
    return function(
        "end_delivery", job.id, job.attempt, job.claim_id, notification, read=nothing, types=("", "", "", "uuid")
    )  # fmt: skip


def mute_rule(name: str, *, muted: bool) -> Call[bool]:
    """Let a rule find nothing until it is unmuted; answers whether there is one."""
    return function("mute_rule", name, muted, read=single, types=("text", "boolean"))


def alerts(*, only_open: bool = False, alert_id: UUID | None = None, limit: int = 50) -> Call[list[Alert]]:
    """List alerts, newest first, or look one up."""
    return query("alerts", _read_alerts, only_open=only_open, alert_id=alert_id, limit=limit)


def _read_alerts(rows: list[Row]) -> list[Alert]:
    return [Alert(*row) for row in rows]


def alert_rules() -> Call[list[dict[str, Any]]]:
    """List the rules that are watched."""
    return query("alert_rules", lambda rows: [told for (told,) in rows])


def alert_channels() -> Call[list[Channel]]:
    """List the channels that apps have declared."""
    return query("alert_channels", lambda rows: [Channel(*row) for row in rows])


def notifications(alert_id: UUID) -> Call[list[Notification]]:
    """List the messages that told of an alert."""
    return query("notifications", lambda rows: [Notification(*row) for row in rows], alert_id=alert_id)


def find_notification(notification_id: UUID) -> Call[str | None]:
    """Look what became of one message."""
    return query("notification", lambda rows: rows[0][0] if rows else None, id=notification_id)


def outbox() -> Call[Outbox]:
    """Look at what did not go out."""
    return query("outbox", lambda rows: Outbox(*rows[0]))
