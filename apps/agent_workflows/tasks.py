"""The one task: an agent works towards a goal, step by step."""

from typing import Any
from uuid import UUID

import httpx

from apps.agent_workflows.agents import Agent, find_agent
from apps.agent_workflows.app import app
from apps.agent_workflows.planner import DANGEROUS, Action, next_action
from apps.agent_workflows.settings import Settings
from holdfast import Context

__all__ = ["app", "run_agent"]  # workers are started with this module's app, so that they know its tasks

TLS = httpx.create_ssl_context()  # once: it reads all certificates


@app.task()
async def run_agent(ctx: Context, agent_id: str, topic: str, tidy: bool = False) -> list[str]:
    """Do what the planner says until it says no more; each step once, however often a worker dies in between."""
    agent: Agent = await ctx.step_transaction("settings", find_agent, agent_id)
    ctx.use_backoff(agent.backoff)
    before = await ctx.last_checkpoint() or {"steps": []}
    seen: list[dict[str, Any]] = []
    steps: list[str] = []
    while (action := next_action(topic, tidy, seen)) is not None:
        step = f"{len(seen) + 1} {action.tool}"
        if action.tool in DANGEROUS:
            await ctx.approval(
                f"{step}?",
                question=f"May agent {agent_id} use {action.tool}?",
                facts={"topic": topic, **action.arguments},
                approvers=agent.approvers,
                expires_in=agent.approval_expires_in,
            )
        seen.append(await ctx.step(step, use_tool, action, ctx.job_id, step))
        steps.append(step)
        if step not in before["steps"]:  # an earlier attempt's progress is not written over with less
            await ctx.checkpoint({"steps": steps})
    return steps


async def use_tool(action: Action, job_id: UUID, step: str) -> dict[str, Any]:
    """Use a tool, which does the same step of the same job once; errors are Holdfast's to judge, and Retry-After to obey."""
    settings = Settings.read()
    async with httpx.AsyncClient(verify=TLS, timeout=settings.tool_timeout) as client:
        answer = await client.post(
            f"{settings.tools_url}/tools/{action.tool}",
            json=action.arguments,
            headers={"Idempotency-Key": f"{job_id} {step}"},
        )
    answer.raise_for_status()
    told: dict[str, Any] = answer.json()
    return told
