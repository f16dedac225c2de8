"""Matches that both sides approve; now and then the advisor is gone by then, and the match is taken back."""

from typing import ClassVar

import httpx

from apps._traffic import Visits
from apps._world.serving import NO_TLS
from apps.workspace_access.app import app
from apps.workspace_access.story import World, decide, matched

_LEAVE = "delete from workspace_access.advisors where id = %s"


class Traffic(Visits[World]):
    """An advisor and a client find each other."""

    pause: ClassVar[tuple[float, float]] = (9.0, 16.0)

    async def visit(self) -> None:
        """Match two people, and let both approve."""
        given = await matched(self.dice.choice(("en", "fr", "pt")), self.somebody().capitalize())
        async with httpx.AsyncClient(base_url=self.stage.url, timeout=30, verify=NO_TLS) as http:
            await decide(http, given, "client", given.owner)
            if self.happens(7):
                async with app.atransaction() as conn:
                    await conn.execute(_LEAVE, (given.advisor,))
            await decide(http, given, "advisor", given.advisor)
