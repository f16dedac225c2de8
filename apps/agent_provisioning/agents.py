"""Agents: drafts, how far they are, and the rule that a user provisions one at a time."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from apps.agent_provisioning.app import app
from apps.agent_provisioning.checkout import open_session
from apps.agent_provisioning.settings import Settings
from holdfast import Job, NotRetryable, Status

CUSTOMER = "select stripe_customer from agent_provisioning.customer where user_id = %s"
LOCK_CUSTOMER = CUSTOMER + " for update"
AGENT = "select name, region from agent_provisioning.agent where id = %s and user_id = %s"
DRAFT = """
insert into agent_provisioning.agent (id, user_id, name, region, checkout_session)
values (%s, %s, %s, %s, %s)
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
    retries: int
    job: Job | None  # its newest

    @property
    def state(self) -> str:
        """Say it in one word."""
        match self.job:
            case None:
                return "draft"
            case Job(status=Status.COMPLETED):
                return "running"
            case Job(status=Status.FAILED | Status.CANCELLED):
                return "failed"
            case Job(status=Status.RUNNING, run={"state": "sent"}):
                return "provisioning"
            case _:
                return "queued"  # also while GitHub is being called: nothing has started yet


async def draft(user_id: str, name: str, region: str) -> tuple[UUID, str]:
    """Make a draft, and the checkout that pays for it; gives the agent's id and where to pay."""
    await _refuse_while_busy(user_id)
    async with app.atransaction() as connection:
        (customer,) = await _row(connection, CUSTOMER, user_id)
    # The session first: if Stripe is away there is no draft, and a session whose address nobody was told cannot be paid.
    agent_id = uuid4()
    session = await open_session(agent_id, user_id, customer)
    async with app.atransaction() as connection:
        await connection.execute(DRAFT, (agent_id, user_id, name, region, session.id))
    return agent_id, str(session.url)


async def look(agent_id: UUID, user_id: str) -> Provision:
    """Say how far an agent is."""
    async with app.atransaction() as connection:
        return await _look(connection, agent_id, user_id)


async def retry(agent_id: UUID, user_id: str) -> UUID:
    """Try once more, as a new job that waits until the last attempt's machine is gone; gives its id."""
    async with app.atransaction() as connection:
        await _row(connection, LOCK_CUSTOMER, user_id)  # of a user's two retries, one sees the other
        found = await _look(connection, agent_id, user_id)
        await _refuse_while_busy(user_id)
        if found.job is None or found.state != "failed":
            raise Refused(f"Agent {found.name!r} is {found.state}: only a failed one can be retried.")
        if found.retries >= Settings.read().retries:
            raise Refused(f"Agent {found.name!r} was retried {found.retries} times: please contact support.")
        try:
            handle = await app.aretry(found.job.id, actor=f"user:{user_id}", reason="retried by its user")
        except NotRetryable as error:  # its clean-up has failed
            raise Refused(f"Agent {found.name!r} cannot be retried: please contact support.") from error
    return handle.id


async def _look(connection: Any, agent_id: UUID, user_id: str) -> Provision:
    name, region = await _row(connection, AGENT, agent_id, user_id)
    jobs = await _provisions({"subject": f"agent:{agent_id}"})
    retries = sum(job.retry_of is not None for job in jobs)
    return Provision(agent_id, name, region, retries, jobs[0] if jobs else None)


async def _refuse_while_busy(user_id: str) -> None:
    for job in await _provisions({"tag": f"user:{user_id}", "status": "pending,running,retry"}):
        name = (job.metadata or {}).get("agent")
        raise Refused(f"Agent {name!r} is being provisioned: please wait until it has finished.")


async def _provisions(where: dict[str, str]) -> list[Job]:
    """Find provisions, newest first, without those that clean up after others."""
    found = await app.ajobs("task:provision", where=where)
    for job in found.jobs:
        # Whoever asks a stuck one for its status finds that out, and so fails it: also where no worker sweeps.
        if job.status is Status.RUNNING and (await app.ahandle(job.id).status()).is_terminal:
            return await _provisions(where)
    return [job for job in found.jobs if job.compensates is None]


async def _row(connection: Any, statement: str, *values: Any) -> Any:
    row = await (await connection.execute(statement, values)).fetchone()
    if row is None:
        raise Unknown
    return row
