"""Settings: who you are here, how the machine does, who may come, who is told, and what is switched off."""

from typing import Any

from holdfast.domain.access import Scope
from holdfast.interfaces.http.api.alerts import list_channels, list_rules, mute_rule, try_channel, unmute_rule
from holdfast.interfaces.http.api.queues import FlagBody, list_flags, list_tasks, set_flag
from holdfast.interfaces.http.api.system import examine_system, show_system
from holdfast.interfaces.http.api.words import ReasonBody
from holdfast.interfaces.http.dashboard import setting_forms as forms
from holdfast.interfaces.http.dashboard.look import Look
from holdfast.interfaces.http.dashboard.narrowing import COOKIE, is_narrowed
from holdfast.interfaces.http.dashboard.page import Done, Kept, Section
from holdfast.interfaces.http.dashboard.rendering import size
from holdfast.interfaces.http.dashboard.rule_words import watches
from holdfast.interfaces.http.problem import FORBIDDEN, Refusal
from holdfast.store.access import enter

settings = Section("settings")


@settings.panel()
async def yourself(look: Look) -> dict[str, Any]:
    """Say who somebody is here, and let them choose how it looks."""
    return {"scopes": [scope.value for scope in Scope if look.may(scope)]}


@settings.panel()
async def system_versions(look: Look) -> dict[str, Any]:
    """Show what runs here, and how large it has grown."""
    shown = await look.at(show_system)
    return {"system": shown, "tables": [(each, size(each.bytes)) for each in shown.tables]}


@settings.panel()
async def doctor(look: Look) -> dict[str, Any]:
    """Show what `holdfast doctor` says now."""
    shown = await look.at(examine_system)
    order = {"fail": 0, "warn": 1, "ok": 2}
    return {
        "is_healthy": shown.is_healthy,
        "checks": sorted(shown.checks, key=lambda each: order[each.verdict]),
    }


@settings.panel("settings", "alerts")
async def rule_list(look: Look) -> dict[str, Any]:
    """List the rules that alerts are raised by."""
    found = (await look.at(list_rules)).items
    return {"rules": [(each, watches(each)) for each in found], "operates": look.may(Scope.OPERATE)}


@settings.panel("settings")
async def channel_list(look: Look) -> dict[str, Any]:
    """List the ways in which people are told."""
    return {"channels": (await look.at(list_channels)).items, "operates": look.may(Scope.OPERATE)}


@settings.panel("settings")
async def flag_list(look: Look) -> dict[str, Any]:
    """List the flags."""
    return {"flags": (await look.at(list_flags)).items, "operates": look.may(Scope.OPERATE)}


@settings.panel("workers")
async def retention_list(look: Look) -> dict[str, Any]:
    """List how long each task's finished jobs are kept."""
    return {"tasks": (await look.at(list_tasks)).items}


settings.page("/settings", "Settings", yourself)
settings.page("/settings/system", "System", system_versions)
settings.page("/settings/doctor", "Doctor", doctor)
settings.page("/settings/alerts", "Alert rules", rule_list, channel_list)
settings.page("/settings/tasks", "Flags and retention", flag_list, retention_list)


@settings.action("/settings/alerts/mute")
async def mute(look: Look, form: forms.NamedForm) -> Done:
    """Mute a rule."""
    await look.at(mute_rule, form.name, ReasonBody(reason=form.reason))
    return Done(f"Rule {form.name} is muted: it is judged no longer, and tells nobody.", "/settings/alerts")


@settings.action("/settings/alerts/unmute")
async def unmute(look: Look, form: forms.NamedForm) -> Done:
    """Let a rule speak again."""
    await look.at(unmute_rule, form.name, ReasonBody(reason=form.reason))
    return Done(f"Rule {form.name} is watched again.", "/settings/alerts")


@settings.action("/settings/alerts/test")
async def test_channel(look: Look, form: forms.ChannelForm) -> Done:
    """Send a test message."""
    await look.at(try_channel, form.name, ReasonBody())
    return Done(
        f"A test message is on its way to {form.name}; a worker that has the channel delivers it.",
        "/settings/alerts",
    )


@settings.action("/settings/tasks/flag")
async def switch(look: Look, form: forms.FlagForm) -> Done:
    """Switch a flag."""
    body = FlagBody(enabled=form.state == "on", percent=form.percent, reason=form.reason)
    flag = await look.at(set_flag, form.name, body)
    return Done(f"Flag {form.name} is {flag.status}.", "/settings/tasks")


@settings.action("/settings/tenant")
async def choose_tenant(look: Look, form: forms.TenantForm) -> Done:
    """Look at one tenant's things alone, or at everybody's again; who is bound to one stays there."""
    if look.principal.tenant is not None and not is_narrowed(look.request):
        raise Refusal(FORBIDDEN, f"you belong to {look.principal.tenant}")
    if form.tenant is None:
        return Done("You see all tenants again.", "/", Kept(COOKIE, None))
    await look.call.ask(enter(form.tenant))  # refused where the database cannot keep tenants apart
    return Done(
        f"You see what the people of {form.tenant} see, and nothing else.", "/", Kept(COOKIE, form.tenant)
    )
