"""Organisations that import contacts; one of them has little room, and support gives it more when an import has failed a while."""

import asyncio
import math
import random
from typing import Any, ClassVar

from apps._stage import Stage
from apps._traffic import Visits
from apps.org_jobs.organisations import add_organisation, set_contact_limit
from apps.org_jobs.story import World, calling
from apps.org_jobs.tasks import app, import_contacts

SMALL = "small"
GONE = "hooli"  # it is no organisation any more
ROOMY = ("acme", "globex", "initech")
ORGANISATIONS = (*ROOMY, SMALL)
WAVE = 25.0  # minutes from one busy time to the next
ROOM, PLENTY = 20, 1_000_000
SUPPORT_NEEDS = 5.0


class Traffic(Visits[World]):
    """Somebody imports contacts."""

    pause: ClassVar[tuple[float, float]] = (2.5, 6.0)

    def __init__(self, stage: Stage, world: World, dice: random.Random) -> None:
        super().__init__(stage, world, dice)
        limits = {name: ROOM if name == SMALL else PLENTY for name in ORGANISATIONS}
        self._tokens = {name: add_organisation(name, limit) for name, limit in limits.items()}
        self._limit = ROOM
        self._imported = 0
        self._minutes = 0

    async def visit(self) -> None:
        """Import a few contacts into one organisation."""
        organisation = self.dice.choice(ORGANISATIONS)
        names = [self.somebody() for _ in range(self.dice.randint(1, 4))]
        async with calling(self.stage, self._tokens[organisation]) as caller:
            await caller.enqueue(
                *({"email": f"{name}@{organisation}.example", "name": name} for name in names)
            )
        if organisation == SMALL:
            await self._call_support(len(names))

    async def minute(self) -> None:
        """Live through a minute of the past."""
        self._minutes += 1
        wave = math.sin(self._minutes / WAVE * math.tau)
        many = round(40 + 14 * wave + self.dice.uniform(-4, 4))
        wanted = [self._import(self.dice.choice(ROOMY)) for _ in range(many)]
        await app.aenqueue_many([*wanted, self._import(GONE)] if self.happens(6) else wanted)

    def _import(self, organisation: str) -> Any:
        contact = {"email": f"{self.somebody()}@{organisation}.example"}
        return import_contacts.using(tenant=organisation).job([contact])

    async def _call_support(self, number: int) -> None:
        """Have the limit raised, while the import is tried again; now and then nobody answers in time, and it fails."""
        self._imported += number
        if self._imported <= self._limit:
            return
        if self.happens(3):
            self._imported -= number
            return
        self._limit = self._imported + ROOM
        await asyncio.sleep(SUPPORT_NEEDS)
        await asyncio.to_thread(set_contact_limit, SMALL, self._limit)
