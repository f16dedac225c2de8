"""Alerts of an app: its rules and channels, the jobs that deliver, and messages of its own."""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from holdfast.domain.alert import SEVERITIES, AlertRule, Severity
from holdfast.domain.approval import token_hash
from holdfast.domain.backoff import Backoff
from holdfast.domain.errors import BadInput, Configuration
from holdfast.domain.message import Message, body_text, compose, is_address, one_line
from holdfast.domain.outcome import Fail
from holdfast.domain.payload import PayloadCodec
from holdfast.domain.task import TaskSettings
from holdfast.runtime import failpoints
from holdfast.runtime.approvals import new_token
from holdfast.runtime.channels import Channel
from holdfast.runtime.context import Context, JobContext
from holdfast.runtime.registry import AnyTask, ContextTask
from holdfast.store import alert as outbox
from holdfast.store.call import Call
from holdfast.store.foreign import aask_through, ask_through
from holdfast.store.ids import new_id

if TYPE_CHECKING:
    from holdfast.runtime.app import Holdfast

OWN_PREFIX = "holdfast."
OWN_QUEUE = "holdfast"

# Twenty tries over about two hours: mail servers come back, and a late alert is better than none.
RETRIES = 20
BACKOFF = Backoff(base=2.0, cap=600.0)
KEPT_SECONDS = 7 * 86_400.0
TIME_LIMIT = 120.0

Priority: TypeAlias = Literal["low", "normal", "high"]
_PRIORITIES: Mapping[str, int] = {"low": -50, "normal": 0, "high": 50}
_CHANNEL_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")


@dataclass(frozen=True, slots=True)
class Declared:
    """A rule with what is done when it finds something."""

    rule: AlertRule
    severity: Severity
    channels: tuple[str, ...] | None  # None: all of the app's


class Alerts:
    """What an app is told about its jobs, and how."""

    def __init__(self, app: "Holdfast") -> None:
        self._app = app
        self.base_url: str | None = None
        self.channels: dict[str, Channel] = {}
        self.rules: dict[str, Declared] = {}
        self.tasks: dict[
            str, AnyTask
        ] = {}  # Holdfast's own, one a channel: only who has a channel delivers to it

    # -- declarations ----------------------------------------------------------------------------------------------------

    def to(self, channel: Channel, *, name: str | None = None) -> None:
        """Add a channel; its name is its kind unless given. Names belong to the database: two apps do not share one."""
        named = channel.kind if name is None else name
        if not _CHANNEL_NAME.fullmatch(named):
            raise Configuration(f"channel {named!r}: a name has 1 to 50 of a-z, 0-9, _ and -")
        if named in self.channels:
            raise Configuration(f"two channels are called {named!r}: give one of them another name=")
        self.channels[named] = channel
        task = self._delivering(named, channel)
        self.tasks[task.name] = task

    def rule(
        self,
        name: str,
        rule: AlertRule,
        *,
        severity: Severity = "warning",
        channels: Sequence[str] | None = None,
    ) -> None:
        """Watch for something; told to these channels, or to all there are."""
        if name in self.rules:
            raise Configuration(f"two alert rules are called {name!r}: give one of them another name")
        try:
            one_line("an alert rule's name", name)
        except BadInput as error:
            raise Configuration(str(error)) from None
        if severity not in SEVERITIES:
            raise Configuration(
                f"alert rule {name!r} has severity={severity!r}; choose {', '.join(SEVERITIES)}"
            )
        rule.definition()  # refuses what makes no sense here, not when a worker starts
        self.rules[name] = Declared(rule, severity, None if channels is None else tuple(channels))

    def registration(self) -> Call[list[str]]:
        """Tell the database what this app declares."""
        location = self._app.location
        app = str(location) if location is not None else f"{self._app.made_in}:?"
        channels = [{"name": name, "kind": channel.kind} for name, channel in sorted(self.channels.items())]
        rules = [self._definition(name, declared) for name, declared in sorted(self.rules.items())]
        return outbox.register_alerts(app, channels, rules)

    def _definition(self, name: str, declared: Declared) -> dict[str, Any]:
        channels = sorted(self.channels) if declared.channels is None else list(declared.channels)
        unknown = sorted(set(channels) - set(self.channels))
        if unknown:
            raise Configuration(
                f"alert rule {name!r} tells {', '.join(unknown)}, which no app.alerts.to(…, name=…) has declared"
            )
        return {
            "name": name, "kind": declared.rule.kind, "severity": declared.severity, "channels": channels,
            **declared.rule.definition(),
        }  # fmt: skip

    # -- messages of the application's own ---------------------------------------------------------------------------------

    def notify(
        self,
        channel: str,
        subject: str,
        text: str,
        *,
        to: str | Sequence[str] | None = None,
        priority: Priority = "normal",
        conn: Any = None,
    ) -> list[UUID]:
        """Send a message through the outbox: in the caller's transaction when conn is given, delivered by a worker."""
        ids, messages, declared = self._messages(channel, subject, text, to, priority)
        if conn is None:
            self._app.link.perform(outbox.notify(messages, declared))
        else:
            values = {"messages": messages, "declared": declared}
            ask_through(conn, "notify", values, "app.anotify(…, conn=…)")
        return ids

    async def anotify(
        self,
        channel: str,
        subject: str,
        text: str,
        *,
        to: str | Sequence[str] | None = None,
        priority: Priority = "normal",
        conn: Any = None,
    ) -> list[UUID]:
        """Send a message through the outbox; see notify."""
        ids, messages, declared = self._messages(channel, subject, text, to, priority)
        if conn is None:
            await self._app.link.aperform(outbox.notify(messages, declared))
        else:
            await aask_through(conn, "notify", {"messages": messages, "declared": declared})
        return ids

    def _messages(
        self, channel: str, subject: str, text: str, to: str | Sequence[str] | None, priority: str
    ) -> tuple[list[UUID], str, str]:
        if priority not in _PRIORITIES:
            raise BadInput(f"priority={priority!r} is not one of {', '.join(_PRIORITIES)}")
        recipients: list[str | None] = [None] if to is None else [to] if isinstance(to, str) else [*to]
        if not recipients:
            raise BadInput("to= names nobody: leave it out for the channel's own recipients")
        for address in recipients:
            if address is not None and not is_address(address):
                raise BadInput(f"to={address!r} is no e-mail address")
        found = self.channels.get(channel)
        if to is not None and found is not None and found.kind != "email":
            raise BadInput(f"channel {channel!r} is {found.kind}: only e-mail takes to=")
        ids = [new_id() for _ in recipients]
        shared = {
            "channel": channel, "subject": one_line("subject", subject), "body": body_text(text),
            "priority": _PRIORITIES[priority],
        }  # fmt: skip
        messages = [
            {**shared, "id": str(each), "recipient": recipient}
            for each, recipient in zip(ids, recipients, strict=True)
        ]
        tasks = [] if found is None else [self.tasks[_task_name(channel)].settings.definition()]
        return ids, json.dumps(messages), json.dumps(tasks)

    # -- delivery --------------------------------------------------------------------------------------------------------

    def _delivering(self, name: str, channel: Channel) -> AnyTask:
        """Make the task that delivers to a channel: Holdfast's own, and no part of app.tasks."""

        async def deliver(ctx: Context, notification: UUID) -> str:
            return await self._deliver(ctx, channel, notification)

        settings = TaskSettings(
            name=_task_name(name), executor="loop", queue=OWN_QUEUE, retries=RETRIES, backoff=BACKOFF, timeout=TIME_LIMIT,
            retention=KEPT_SECONDS, options={"internal": True},
        )  # fmt: skip
        return ContextTask(self._app, deliver, settings, PayloadCodec.of(deliver, context_type=JobContext))

    async def _deliver(self, ctx: Context, channel: Channel, notification: UUID) -> str:
        token = new_token()
        link = self._app.link
        told = await link.aperform(outbox.begin_delivery(ctx.claimed, notification, token_hash(token)))
        if told is None:
            return "there was nothing to send any more"
        page = self._page(told["approval"]["id"], token) if told["kind"] == "approval" else None
        failpoints.reach("delivery_begun")
        with _discreet():
            await channel.send(compose(told, page))
        failpoints.reach("delivery_sent")
        await link.aperform(outbox.end_delivery(ctx.claimed, notification))
        return "delivered"

    async def test(self, channel: str, to: str | None = None) -> str:
        """Send a test message here and now, around the outbox; answers its id."""
        message = Message(
            id=str(new_id()), kind="test", subject="A test message of Holdfast", text=f"Channel {channel} works.",
            is_urgent=False, created_at=datetime.now(UTC).isoformat(), recipient=to, data={},
        )  # fmt: skip
        with _discreet():
            await self.channels[channel].send(message)
        return message.id

    def _page(self, approval: str, token: str) -> str:
        try:
            return self._app.approvals.page_of(approval, token)
        except Configuration as error:
            raise Fail(str(error)) from error


def _task_name(channel: str) -> str:
    return f"{OWN_PREFIX}notify.{channel}"


_is_discreet: ContextVar[bool] = ContextVar("holdfast_discreet", default=False)


@contextmanager
def _discreet() -> Iterator[None]:
    """Keep the HTTP client's log lines out of everything: they have the whole address, which may be the secret."""
    logging.getLogger("httpx").addFilter(_drop_discreet)
    before = _is_discreet.set(True)
    try:
        yield
    finally:
        _is_discreet.reset(before)


def _drop_discreet(_record: logging.LogRecord) -> bool:
    return not _is_discreet.get()
