"""Agents: how patient each is with others, and who is asked before it does harm."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast import Backoff, BadInput, Fail

Seconds = Annotated[float, Field(ge=0, le=86_400)]
ID = re.compile(r"[a-z0-9-]{1,50}")


class NoSuchAgent(Fail):
    """Nobody has made an agent of this name: a job for it fails for good."""


class Agent(BaseModel):
    """One agent's settings. A job keeps those that it began with, and the number of retries that it was made with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    backoff_base: Seconds = 1.0
    backoff_multiplier: Annotated[float, Field(ge=1, le=100)] = 2.0
    backoff_max: Seconds = 300.0
    backoff_jitter: bool = True
    approvers: list[str] = []
    approval_expires_in: Annotated[float, Field(gt=0)] | None = None

    @property
    def backoff(self) -> Backoff:
        """How long it waits before it tries again."""
        return Backoff(self.backoff_base, self.backoff_multiplier, self.backoff_max, self.backoff_jitter)


COLUMNS = ", ".join(Agent.model_fields)
VALUES = ", ".join(f"%({name})s" for name in Agent.model_fields)
FIND = f"select {COLUMNS} from agent_workflows.agent where id = %s"  # noqa: S608 - our own names # nosec B608
KEEP = f"""
insert into agent_workflows.agent (id, {COLUMNS}) values (%(id)s, {VALUES})
on conflict (id) do update set ({COLUMNS}) = ({VALUES})
"""  # noqa: S608 - our own names # nosec B608


async def find_agent(connection: Any, agent_id: str) -> Agent:
    """Read an agent's settings."""
    row = await (await connection.execute(FIND, (agent_id,))).fetchone()
    if row is None:
        raise NoSuchAgent(f"there is no agent {agent_id!r}")
    return Agent(**dict(zip(Agent.model_fields, row, strict=True)))


async def keep_agent(connection: Any, agent_id: str, agent: Agent) -> None:
    """Write an agent's settings."""
    if not ID.fullmatch(agent_id):
        raise BadInput(f"an agent's id has 1 to 50 of a-z, 0-9 and -, not {agent_id!r}")
    await connection.execute(KEEP, {"id": agent_id, **agent.model_dump()})
