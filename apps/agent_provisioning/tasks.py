"""The one task, what undoes it, and the payment that leads to it."""

from http import HTTPStatus
from typing import Any

import httpx

from apps.agent_provisioning.app import app
from apps.agent_provisioning.settings import Settings
from holdfast import Context
from holdfast.server import Stripe, WebhookEvent

__all__ = ["app", "provision"]

TLS = httpx.create_ssl_context()  # once: it reads all certificates
AGENT = "select user_id, region, name from agent_provisioning.agent where id = %s"
SUBSCRIBE = """
insert into agent_provisioning.subscription (id, agent_id, event_id)
values (%s, %s, %s)
on conflict do nothing
returning id
"""


async def remove_machines(agent_id: str, user_id: str, region: str) -> None:  # noqa: ARG001 - gets what the task gets
    """Delete what a failed attempt has left at the provider; may be repeated until nothing is left."""
    settings = Settings.read()
    headers = {"Authorization": f"Bearer {settings.machines_token}"}
    async with httpx.AsyncClient(
        base_url=settings.machines_url, headers=headers, timeout=30, verify=TLS
    ) as provider:
        found = await provider.get("/machines", params={"name": agent_id})
        for machine in found.raise_for_status().json():
            deleted = await provider.delete(f"/machines/{machine['id']}")
            if deleted.status_code != HTTPStatus.NOT_FOUND:  # gone already: an answer was lost
                deleted.raise_for_status()


@app.task(
    retries=0,  # a person retries
    manual_retries=Settings.read().retries,
    manual_retries_per="subject",  # the agent
    unique=["agent_id"],
    key_scope="success",  # an agent that has its machine never gets a second one
    limit={"key": "user:{user_id}", "max": 1},  # a paid one waits its turn
    heartbeat_limit=600,
    run_limit=900,
    compensate=remove_machines,
)
async def provision(ctx: Context, agent_id: str, user_id: str, region: str) -> None:  # noqa: ARG001 - the limit counts by user
    """Hand the agent to the workflow, which reports until its machine runs or it has failed."""
    await ctx.dispatch("github", agent_id=agent_id, region=region)


async def paid(event: WebhookEvent, connection: Any) -> None:
    """Write the subscription and queue the job, in the event's own transaction."""
    session = event.body["data"]["object"]
    agent_id = session["metadata"].get("agentId")
    if agent_id is None or session.get("payment_status") == "unpaid":
        return  # somebody else's checkout, or one whose money comes later, with an event of its own
    agent = await (await connection.execute(AGENT, (agent_id,))).fetchone()
    if agent is None:
        raise LookupError(f"event {event.id} pays for agent {agent_id}, which does not exist")
    user_id, region, name = agent
    subscription = (session["subscription"], agent_id, event.id)
    if await (await connection.execute(SUBSCRIBE, subscription)).fetchone() is None:
        return  # counted before
    queue = provision.using(
        conn=connection,
        subject=f"agent:{agent_id}",
        tags=[f"user:{user_id}"],
        metadata={"agent": name},
        label=f"Provision {name}",
        requested_by=user_id,
    )
    await queue.aenqueue(agent_id, user_id, region)


app.webhook(
    "stripe",
    verify=Stripe(),
    on={"checkout.session.completed": paid, "checkout.session.async_payment_succeeded": paid},
)
