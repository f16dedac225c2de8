"""The stage on which stories play: a database of their own, worker processes, and ways to look at what is true."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from holdfast.domain.job import AttemptRecord, Job, StepRecord, Transition
from holdfast.domain.states import Status
from holdfast.interfaces.demo.app import app
from holdfast.interfaces.reloading import worker_command
from holdfast.store import inspect
from holdfast.store.connection import Database, Session

APP = "holdfast.interfaces.demo.app:app"
PATIENCE = 30.0
_LOOK_EVERY = 0.02


class StoryFailed(Exception):
    """What a story promises is not so."""


def verify(holds: bool, otherwise: str) -> None:
    """Insist on a fact."""
    if not holds:
        raise StoryFailed(otherwise)


class Stage:
    """A migrated database, its owner and its application's login."""

    def __init__(self, owner: Database, login: Database, door: str, secret_key: str) -> None:
        self.login = login
        self.door = door
        self._secret_key = secret_key
        self.as_owner = Session(owner, "holdfast demo owner")
        self.as_login = Session(login, "holdfast demo")
        app.connect_to(login)

    def close(self) -> None:
        """Hang up."""
        app.close()
        self.as_owner.close()
        self.as_login.close()

    @contextmanager
    def worker(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker in a process of its own; it is ended afterwards if it has not ended."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        environment = {
            **kept,
            "HOLDFAST_DATABASE_URL": self.login.url,
            "HOLDFAST_CALLBACK_URL": self.door,
            "HOLDFAST_SECRET_KEY": self._secret_key,
        }
        command = worker_command("-a", APP, "worker", "--log-level", "error", *options)
        process = subprocess.Popen(command, env=environment, stdout=sys.stderr)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)

    def job(self, job_id: UUID) -> Job:
        """Look at a job that must be there."""
        found = self.as_login.perform(inspect.find_job(job_id))
        if found is None:
            raise StoryFailed(f"job {job_id} is not there")
        return found

    def is_there(self, job_id: UUID) -> bool:
        """Look whether a job exists."""
        return self.as_login.perform(inspect.find_job(job_id)) is not None

    def history(self, job_id: UUID) -> list[Transition]:
        """Look at a job's history."""
        return self.as_login.perform(inspect.history(job_id))

    def path(self, job_id: UUID) -> list[Status]:
        """Look at the statuses a job went through."""
        return [each.to_status for each in self.history(job_id)]

    def attempts(self, job_id: UUID) -> list[AttemptRecord]:
        """Look at what a job's attempts left behind."""
        return self.as_login.perform(inspect.attempts(job_id))

    def steps(self, job_id: UUID) -> list[StepRecord]:
        """Look at the steps that a job has behind it."""
        return self.as_login.perform(inspect.steps(job_id))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            verify(time.monotonic() < deadline, f"waited {PATIENCE:g} s in vain until {what}")
            time.sleep(_LOOK_EVERY)

    def until_status(self, job_id: UUID, status: Status) -> None:
        """Wait until a job is there."""
        self.until(lambda: self.job(job_id).status is status, f"job {job_id} is {status}")
