"""A test's own database, and what a test does with it."""

import asyncio
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from holdfast.domain.job import Job
from holdfast.domain.search import NameTerm, Search, StatusTerm
from holdfast.domain.states import Status
from holdfast.runtime import failpoints
from holdfast.runtime.app import Holdfast
from holdfast.runtime.failpoints import DispatchPoint, SimulatedCrash, WebhookPoint, WorkerPoint
from holdfast.runtime.loop import run
from holdfast.store import databases
from holdfast.store.connection import Database, Session
from holdfast.store.search import find_jobs

if TYPE_CHECKING:
    from holdfast.runtime.registry import AnyTask

# Short pauses: a drained test should not wait for a poll. The tables of a test are gone before they need upkeep, which takes
# a connection of its own and a tenth of the time of a drain; so does every connection that calls the same functions again.
_QUICK: dict[str, Any] = {
    "until_idle": True,
    "handle_signals": False,
    "poll": 0.05,
    "upkeep": False,
    "apart": False,
}


class Clock:
    """The database's clock, moved by replacing its function in the test's own database."""

    def __init__(self, owner_url: str) -> None:
        self._owner_url = owner_url
        self._ahead = timedelta()

    def advance(self, by: timedelta | float) -> None:
        """Move time forward: what becomes due, expires or ages, does so now."""
        self._ahead += by if isinstance(by, timedelta) else timedelta(seconds=by)
        databases.move_clock(self._owner_url, self._ahead.total_seconds())


class ScratchDatabase:
    """A migrated database that only one test sees. Applications log in without the owner's rights."""

    def __init__(self, owner_url: str, url: str) -> None:
        self.owner_url = owner_url
        self.url = url
        self.clock = Clock(owner_url)
        self._apps: list[Holdfast] = []

    def use(self, app: Holdfast) -> Holdfast:
        """Point an app at this database, until the test ends."""
        app.connect_to(Database(self.url, "test"))
        self._apps.append(app)
        return app

    def create_schema(self, name: str) -> None:
        """Make a schema for tables of your own, which applications may fill: their login may not make one."""
        databases.create_schema(self.owner_url, name, self.url)

    def close(self) -> None:
        """Close the apps that were pointed here. The fixture calls this."""
        while self._apps:
            self._apps.pop().close()

    def jobs(self, *, task: "AnyTask | str | None" = None, status: Status | str | None = None) -> list[Job]:
        """List the jobs there are, oldest first."""
        name = task if isinstance(task, str) or task is None else task.name
        of_task = () if name is None else (NameTerm("task", name),)
        in_status = () if status is None else (StatusTerm((Status(status),)),)
        session = Session(Database(self.owner_url, "test"), "holdfast test")
        try:
            found = session.perform(find_jobs(Search((*of_task, *in_status)), 10_000)).jobs
        finally:
            session.close()
        return found[::-1]

    def assert_enqueued(self, task: "AnyTask | str", **arguments: Any) -> Job:
        """Find the one job of this task whose payload has these arguments; others it may have besides."""
        wanted = to_jsonable_python(arguments)
        jobs = self.jobs(task=task)
        fitting = [job for job in jobs if wanted.items() <= job.payload.items()]
        if len(fitting) != 1:
            raise AssertionError(
                _not_one(task if isinstance(task, str) else task.name, wanted, len(fitting), jobs)
            )
        return fitting[0]


def _not_one(task: str, wanted: dict[str, Any], fitting: int, jobs: list[Job]) -> str:
    there = "".join(f"\n  {job.status} {job.payload}" for job in jobs) or " none"
    found = "no job" if fitting == 0 else f"{fitting} jobs"
    return f"{found} of task {task} with {wanted}, where exactly one was expected; jobs of this task:{there}"


def drain(app: Holdfast, **options: Any) -> None:
    """Run a worker here until nothing is left to do now; what is due later waits for the clock."""
    if _in_a_loop():
        raise RuntimeError("drain() cannot run inside an event loop: use `await adrain(app)`")
    run(adrain(app, **options))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def adrain(app: Holdfast, **options: Any) -> None:
    """Run a worker here until nothing is left to do now; what is due later waits for the clock."""
    await app.run_worker(**{**_QUICK, **options})


@contextmanager
def crash_at(point: WorkerPoint | DispatchPoint | WebhookPoint) -> Iterator[None]:
    """Let the worker that runs inside this block crash at a point, as if its process had been killed."""
    before = os.environ.get("HOLDFAST_TESTING")
    os.environ["HOLDFAST_TESTING"] = "1"
    try:
        failpoints.arm(point)
        yield
    except SimulatedCrash as crash:
        # Its frames hold what the worker was just connecting, in a circle: until garbage is collected, which may be long, the server
        # would wait for somebody to log in, and no database could be made or dropped meanwhile.
        traceback.clear_frames(crash.__traceback__)
        return
    finally:
        failpoints.disarm()
        os.environ.pop("HOLDFAST_TESTING")
        if before is not None:
            os.environ["HOLDFAST_TESTING"] = before
    raise AssertionError(f"no worker reached the crash point {point!r}")
