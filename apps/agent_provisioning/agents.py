"""Agents: drafts, how far they are, and the rule that a user provisions one at a time."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from apps.agent_provisioning.app import app
from apps.agent_provisioning.checkout import open_session
from apps.agent_provisioning.settings import read
from holdfast import NotRetryable

CUSTOMER = "select stripe_customer from agent_provisioning.customer where user_id = %s"
LOCK_CUSTOMER = CUSTOMER + " for update"
DRAFT = """
insert into agent_provisioning.agent (id, user_id, name, region, checkout_session)
values (%s, %s, %s, %s, %s)
"""
PROVISION = """
select agent_id, name, region, state, job_id, workflow_run_id, error, failed_step, retries
  from agent_provisioning.provisions(%s)
 where agent_id = %s
"""
BUSY = """
select job_id, name
  from agent_provisioning.provisions(%s)
 where state in ('queued', 'provisioning')
 order by job_id
"""


class Refused(Exception):
    """The user may not do this now; the message says why."""


class Unknown(Exception):
    """This user has no such agent."""


@dataclass(frozen=True, slots=True)
class Provision:
    """How far an agent is, in machine states: draft, queued, provisioning, running, failed."""

    agent_id: UUID
    name: str
    region: str
    state: str
    job_id: UUID | None
    workflow_run_id: str | None
    error: str | None
    failed_step: str | None
    retries: int


async def draft(user_id: str, name: str, region: str) -> tuple[UUID, str]:
    """Make a draft, and the checkout that pays for it; gives the agent's id and where to pay."""
    async with app.atransaction() as connection:
        await _refuse_while_busy(connection, user_id)
        customer = await (await connection.execute(CUSTOMER, (user_id,))).fetchone()
    if customer is None:
        raise Unknown
    # The session first: if Stripe is away there is no draft, and a session whose address nobody was told cannot be paid.
    agent_id = uuid4()
    session = await open_session(agent_id, user_id, customer[0])
    async with app.atransaction() as connection:
        await connection.execute(DRAFT, (agent_id, user_id, name, region, session.id))
    return agent_id, str(session.url)


async def look(agent_id: UUID, user_id: str) -> Provision:
    """Say how far an agent is."""
    async with app.atransaction() as connection:
        return await _provision(connection, agent_id, user_id)


async def retry(agent_id: UUID, user_id: str) -> UUID:
    """Try once more, as a new job that waits until the last attempt's machine is gone; gives its id."""
    async with app.atransaction() as connection:
        await connection.execute(LOCK_CUSTOMER, (user_id,))  # of a user's two retries, one sees the other
        found = await _provision(connection, agent_id, user_id)
        await _refuse_while_busy(connection, user_id)
        if found.job_id is None or found.state != "failed":
            raise Refused(f"Agent {found.name!r} is {found.state}: only a failed one can be retried.")
        if found.retries >= read().retries:
            raise Refused(f"Agent {found.name!r} was retried {found.retries} times: please contact support.")
        try:
            handle = await app.aretry(found.job_id, actor=f"user:{user_id}", reason="retried by its user")
        except NotRetryable as error:  # its clean-up has failed
            raise Refused(f"Agent {found.name!r} cannot be retried: please contact support.") from error
    return handle.id


async def _refuse_while_busy(connection: Any, user_id: str) -> None:
    for job_id, name in await (await connection.execute(BUSY, (user_id,))).fetchall():
        if not await _has_ended(job_id):
            raise Refused(f"Agent {name!r} is being provisioned: please wait until it has finished.")


async def _provision(connection: Any, agent_id: UUID, user_id: str) -> Provision:
    row = await (await connection.execute(PROVISION, (user_id, agent_id))).fetchone()
    if row is None:
        raise Unknown
    found = Provision(*row)
    if found.job_id is not None and await _has_ended(found.job_id):
        found = Provision(*await (await connection.execute(PROVISION, (user_id, agent_id))).fetchone())
    return found


async def _has_ended(job_id: UUID) -> bool:
    """Whoever looks at a job finds out that it is stuck, and fails it: also where no worker sweeps."""
    return (await app.ahandle(job_id).status()).is_terminal
