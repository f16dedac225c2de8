"""A lane: claims jobs of one queue for the slots it has, a little ahead of them when jobs are short."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from holdfast.domain.job import ClaimedJob
from holdfast.runtime import chance

BATCH = 500
MOST_AHEAD = 1000
# Jobs are claimed ahead only as far as they will start within this time: others may be idle.
AHEAD_SECONDS = 0.2
# A claim that starts at the head of the line costs more when a held snapshot keeps it full of dead rows.
WHOLE_LINE_SHARE = 20
# Below this many free places a busy lane waits a moment, so that claims come in batches.
GATHER_SECONDS = 0.004


class Places:
    """What several lanes share: together they claim no more than can start. Who claimed last is the last to be told of room."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lanes: list[Lane] = []

    def share(self, lane: "Lane") -> None:
        """Count what this lane holds, too."""
        self._lanes.append(lane)

    @property
    def free(self) -> int:
        """How many more may be claimed, by whichever lane."""
        return self._count - sum(lane.held + lane.asked for lane in self._lanes)

    def made(self) -> None:
        """Tell all lanes, in turn, that there is room again."""
        for lane in self._lanes:
            lane.look_for_room()

    def taken_by(self, lane: "Lane") -> None:
        """Let the others go first next time."""
        self._lanes.remove(lane)
        self._lanes.append(lane)


ClaimFrom = Callable[[int, datetime | None], Awaitable[list[ClaimedJob]]]


class Lane:
    """One queue's claims. The worker runs what it gets; the lane decides how much to get and when to look."""

    def __init__(
        self,
        queue: str,
        tasks: Sequence[str],
        slots: int,
        claim: ClaimFrom,
        *,
        looks_ahead: bool,
        poll_seconds: float,
        places: Places | None = None,
    ) -> None:
        self.queue = queue
        self.tasks = list(tasks)
        self.slots = slots
        self.running = 0
        self.finishing = 0
        self.waiting: deque[ClaimedJob] = deque()
        self.finished = 0
        self.started_at = time.monotonic()
        self.asked = 0  # of the places that are shared, for a claim that is about to be answered
        self.is_dry = asyncio.Event()
        self._claim = claim
        self._looks_ahead = looks_ahead
        self._poll_seconds = poll_seconds
        self._room_made = asyncio.Event()
        self._woken = asyncio.Event()
        self._after: datetime | None = None
        self._whole_line_at = 0.0
        self._rate = 0.0
        self._measured = (time.monotonic(), 0)
        self._places = places
        if places is not None:
            places.share(self)

    def wake(self) -> None:
        """Look at the line now."""
        self._woken.set()

    def look_again(self) -> None:
        """Look at the line now, and call it empty only if it is so then."""
        self.is_dry.clear()
        self.wake()

    def make_room(self) -> None:
        """Note that a job was recorded and left."""
        self.finished += 1
        if self._places is None:
            self._room_made.set()
        else:
            self._places.made()

    def look_for_room(self) -> None:
        """See whether something may be claimed again."""
        self._room_made.set()

    @property
    def held(self) -> int:
        """Everything claimed and not yet recorded."""
        return len(self.waiting) + self.running + self.finishing

    @property
    def room(self) -> int:
        """How many more may be claimed now."""
        most = BATCH if self._places is None else min(self._places.free, BATCH)
        return min(self.slots + self._ahead() - self.held, most)

    @property
    def is_starving(self) -> bool:
        """Whether a slot is free and nothing waits for it."""
        return not self.waiting and self.running < self.slots

    def _ahead(self) -> int:
        return min(int(self._rate * AHEAD_SECONDS), MOST_AHEAD) if self._looks_ahead else 0

    def _measure(self) -> None:
        now = time.monotonic()
        since, count = self._measured
        if now - since >= AHEAD_SECONDS / 20:
            self._rate = 0.5 * self._rate + 0.5 * (self.finished - count) / (now - since)
            self._measured = (now, self.finished)

    async def next_jobs(self) -> list[ClaimedJob]:
        """Claim as many as there is room for; an empty answer means that the line is empty."""
        try:
            jobs = await self._claim_bounded()
        finally:
            self._give_up_asking()
        if jobs:
            self.is_dry.clear()
        return jobs

    async def until_room(self) -> None:
        """Wait until something can be claimed, or enough of it at once; places that are shared are kept until it is."""
        self._measure()
        while True:
            while self.room <= 0:
                await self.room_made()
                self._measure()
            if not self.is_starving and self.room < BATCH:
                await asyncio.sleep(GATHER_SECONDS)
            if self._places is None:
                return
            if self.room > 0:  # another lane may have been first meanwhile
                self.asked = self.room
                self._places.taken_by(self)
                return

    def _give_up_asking(self) -> None:
        if self._places is not None:
            self.asked = 0
            self._places.made()

    async def _claim_bounded(self) -> list[ClaimedJob]:
        asked = time.monotonic()
        if self._after is not None and asked < self._whole_line_at:
            jobs = await self._claim(self.asked or max(self.room, 1), self._after)
            if jobs:
                self._after = max(_places(jobs), default=self._after)
                return jobs
        asked = time.monotonic()
        jobs = await self._claim(self.asked or max(self.room, 1), None)
        took = time.monotonic() - asked
        self._whole_line_at = time.monotonic() + min(max(took * WHOLE_LINE_SHARE, 0.1), 1.0)
        self._after = max(_places(jobs), default=None)
        return jobs

    async def room_made(self) -> None:
        """Wait until a job was recorded and left."""
        self._room_made.clear()
        await self._room_made.wait()

    async def rest(self, seconds: float) -> None:
        """Wait until woken, or until it is time to look again anyway."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    @property
    def poll_pause(self) -> float:
        """How long to rest at most; jittered, so that workers do not look all at once."""
        return self._poll_seconds * chance.between(0.75, 1.25)


def _places(jobs: list[ClaimedJob]) -> list[datetime]:
    """Where jobs without a tenant stood in their line; the database knows itself where the other lines begin."""
    return [job.claim_order for job in jobs if job.tenant is None]
