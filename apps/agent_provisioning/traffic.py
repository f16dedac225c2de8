"""Customers who buy agents; now and then the provider's answer is lost, and a machine nobody knows of has to be cleaned away."""

import asyncio
from typing import ClassVar

from apps._traffic import Visits
from apps.agent_provisioning.story import User, World

AGENTS = ("Atlas", "Boreas", "Calypso", "Doris", "Eos", "Gaia", "Helios", "Iris")
REGIONS = ("fsn1", "hel1", "nbg1")
THINKS_IT_OVER = 20.0


class Traffic(Visits[World]):
    """A customer finishes the wizard and pays."""

    pause: ClassVar[tuple[float, float]] = (12.0, 20.0)

    async def visit(self) -> None:
        """Buy an agent; press retry when it fails, or leave it at that."""
        self.world.connect(self.stage)
        trouble = "lost" if self.happens(3) else None
        self.world.machines.script.tell(trouble)
        customer = User(self.stage, self.world, self.somebody())
        agent_id = await customer.buy(self.dice.choice(AGENTS), self.dice.choice(REGIONS))
        shown = await customer.until(agent_id, "running", "failed")
        if shown["state"] == "failed" and self.happens(2):
            await asyncio.sleep(THINKS_IT_OVER)
            await customer.retry(agent_id)
