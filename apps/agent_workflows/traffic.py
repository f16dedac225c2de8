"""Goals for agents: one long piece of research is always under way, and one question always waits for the operator."""

import asyncio
import random
from typing import Any, ClassVar

from apps._stage import Stage
from apps._traffic import Visits
from apps._world.script import Script
from apps.agent_workflows.story import Ann, World

OPERATOR = "demo"  # who is asked, by the name of a login
LONG, SHORT = "harvest", ("apples", "pears", "plums", "quinces")
CHAPTERS, NOTES, DRAFTS = 14, 2, 3
TAKES = 1.2  # seconds that a tool works
TROUBLE = {"unavailable": 0.02, "lost": 0.02}


class Traffic(Visits[World]):
    """Ann gives a goal to an agent that has none."""

    pause: ClassVar[tuple[float, float]] = (5.0, 9.0)
    settings: ClassVar[dict[str, str]] = {"TOOL_TIMEOUT": "10"}

    def __init__(self, stage: Stage, world: World, dice: random.Random) -> None:
        super().__init__(stage, world, dice)
        world.tools.script = Script(dice.randrange(1000), TROUBLE)
        world.tools.takes = TAKES
        self._ann = Ann(stage, world)
        self._given: dict[str, str] = {}  # the last job of an agent
        self._drafts = 0

    async def visit(self) -> None:
        """Keep the researcher busy and a question open; beside them, ask for a short summary."""
        self._restock()
        if await self._is_idle("researcher"):
            await self._give("researcher", {"topic": LONG, "tags": ["long"]})
        elif await self._is_idle("gardener"):
            self._drafts += 1
            await self._give("gardener", {"topic": f"draft {self._drafts}", "tidy": True}, [OPERATOR])
        else:
            await self._give("scout", {"topic": self.dice.choice(SHORT)})

    def _restock(self) -> None:
        texts = {f"{LONG}, chapter {n:02}": f"what grew in week {n}" for n in range(1, CHAPTERS + 1)}
        for topic in SHORT:
            texts |= {f"{topic}, note {n}": f"{topic} keep {n} weeks" for n in range(1, NOTES + 1)}
        names = [f"draft {self._drafts + 1} of page {page}" for page in range(1, DRAFTS + 1)]
        self.world.tools.documents.update({**texts, **dict.fromkeys(names, "not needed any more")})

    async def _is_idle(self, agent: str) -> bool:
        job_id = self._given.get(agent)
        return job_id is None or await asyncio.to_thread(self._ann.has_ended, job_id)

    async def _give(self, agent: str, goal: dict[str, Any], approvers: list[str] | None = None) -> None:
        self._given[agent] = await asyncio.to_thread(self._ann.give, agent, goal, approvers)
