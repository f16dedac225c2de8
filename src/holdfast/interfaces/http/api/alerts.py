"""/alerts and /audit: what went wrong, and who did what about it."""

import json
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from holdfast.domain.access import Scope
from holdfast.interfaces.http.api.words import Limit, Name, ReasonBody
from holdfast.interfaces.http.operation import ApiCall, Operations, Page, Query, View
from holdfast.interfaces.http.problem import NOT_FOUND, Refusal
from holdfast.store import alert as store
from holdfast.store.access import Action, actions
from holdfast.store.ids import new_id

alerts = Operations("alerts")
audit = Operations("audit")


class AlertView(View):
    """An alert."""

    id: UUID
    rule: str
    about: str
    severity: str
    message: str
    job_id: UUID | None
    count: int
    opened_at: datetime
    last_seen_at: datetime
    closed_at: datetime | None


class AlertsView(View):
    """Alerts, newest first."""

    items: list[AlertView]


class AlertsQuery(Query):
    """Which alerts."""

    only_open: bool = False
    limit: Limit = 50


class RuleView(View):
    """A rule that alerts are raised by."""

    name: str
    muted: bool


@alerts.get("/alerts", for_all=True)
async def list_alerts(call: ApiCall, query: AlertsQuery) -> AlertsView:
    """List alerts, newest first."""
    found = await call.ask(store.alerts(only_open=query.only_open, limit=query.limit))
    return AlertsView(items=[AlertView.model_validate(each) for each in found])


class WatchedView(RuleView):
    """A rule with what it watches and whom it tells."""

    kind: str
    task: str | None
    queue: str | None
    tenant: str | None
    severity: str
    threshold: float | None
    period: Annotated[float | None, Field(description="Seconds")]
    channels: list[str]
    app: str
    open: Annotated[int, Field(description="Its alerts that are open")]


class RulesView(View):
    """All rules."""

    items: list[WatchedView]


class ChannelView(View):
    """A way to tell people."""

    name: str
    kind: str


class ChannelsView(View):
    """All channels."""

    items: list[ChannelView]


class SentView(View):
    """A message that is on its way."""

    id: UUID


@alerts.get("/alerts/rules", for_all=True)
async def list_rules(call: ApiCall) -> RulesView:
    """List the rules that are watched."""
    found = await call.ask(store.alert_rules())
    return RulesView(items=[WatchedView(**each, muted=not each["enabled"]) for each in found])


@alerts.get("/alerts/channels", for_all=True)
async def list_channels(call: ApiCall) -> ChannelsView:
    """List the channels that apps have declared."""
    return ChannelsView(
        items=[ChannelView.model_validate(each) for each in await call.ask(store.alert_channels())]
    )


@alerts.post("/alerts/channels/{name}/test", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def try_channel(call: ApiCall, name: str, body: ReasonBody) -> SentView:
    """Send a test message through a channel; a worker that has the channel delivers it."""
    if name not in {each.name for each in await call.ask(store.alert_channels())}:
        raise Refusal(NOT_FOUND, f"no channel is called {name!r}")
    message = {
        "id": str(new_id()),
        "channel": name,
        "subject": "A test message of Holdfast",
        "body": f"Channel {name} works. {call.principal.name} asked for this message.",
    }
    await call.ask(store.notify(json.dumps([message]), None))
    await call.record("alert.test", name, body.reason)
    return SentView(id=UUID(message["id"]))


@alerts.post("/alerts/rules/{name}/mute", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def mute_rule(call: ApiCall, name: str, body: ReasonBody) -> RuleView:
    """Mute a rule: it is judged no longer, and tells nobody."""
    return await _set_muted(call, name, body.reason, muted=True)


@alerts.post("/alerts/rules/{name}/unmute", scope=Scope.OPERATE, for_all=True, problems=(NOT_FOUND,))
async def unmute_rule(call: ApiCall, name: str, body: ReasonBody) -> RuleView:
    """Let a rule speak again."""
    return await _set_muted(call, name, body.reason, muted=False)


async def _set_muted(call: ApiCall, name: str, reason: str | None, *, muted: bool) -> RuleView:
    if not await call.ask(store.mute_rule(name, muted=muted)):
        raise Refusal(NOT_FOUND, f"no rule is called {name!r}")
    await call.record("alert.mute" if muted else "alert.unmute", name, reason)
    return RuleView(name=name, muted=muted)


class ActionView(View):
    """What somebody did."""

    id: int
    at: datetime
    actor: str
    address: str | None
    action: str
    target: str | None
    tenant: str | None
    reason: str | None
    data: dict[str, Any] | None


class ActionsView(Page):
    """A part of the audit, newest first."""

    items: list[ActionView]


class AuditQuery(Query):
    """Which part, and of what."""

    target: Name | None = None
    after: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None
    limit: Limit = 50


@audit.get("/audit", scope=Scope.OPERATE)
async def list_actions(call: ApiCall, query: AuditQuery) -> ActionsView:
    """List what was done through the service and the command line, newest first."""
    before = None if query.after is None else int(query.after)
    found: list[Action] = await call.ask(actions(call.principal.tenant, query.target, before, query.limit))
    further = str(found[-1].id) if len(found) == query.limit else None
    return ActionsView(items=[ActionView.model_validate(each) for each in found], next=further)
