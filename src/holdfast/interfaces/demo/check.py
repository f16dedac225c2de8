"""Plays the stories on a database made for them and dropped afterwards."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.interfaces.demo.app import app
from holdfast.interfaces.demo.door import served
from holdfast.interfaces.demo.stage import Stage
from holdfast.interfaces.demo.stories import STORIES, Story
from holdfast.interfaces.ending import undisturbed
from holdfast.interfaces.http.asgi import asgi
from holdfast.store import databases
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate

Tell = Callable[[str, bool, str, float], None]


def play(admin_url: str, tell: Tell) -> tuple[int, int]:
    """Play all stories; answers how many hold, of how many."""
    with _stage(admin_url) as stage, stage.worker("-q", "default,reminders"):
        held = [_play_one(stage, name, story, tell) for name, story in STORIES.items()]
    return sum(held), len(held)


def _play_one(stage: Stage, name: str, story: Story, tell: Tell) -> bool:
    began = time.monotonic()
    try:
        verified, holds = story(stage), True
    except Exception as error:  # noqa: BLE001 - a story that breaks is a story that does not hold
        verified, holds = f"{type(error).__name__}: {error}", False
    tell(name, holds, verified, time.monotonic() - began)
    return holds


@contextmanager
def _door() -> Iterator[tuple[str, str]]:
    """Open the door that outside runs report to; gives its address, and the key that their secrets are derived from."""
    secret_key, before = secrets.token_hex(32), os.environ.get("HOLDFAST_SECRET_KEY")
    os.environ["HOLDFAST_SECRET_KEY"] = secret_key
    try:
        with served(asgi(app, ["callbacks"])) as address:
            yield address, secret_key
    finally:
        del os.environ["HOLDFAST_SECRET_KEY"]
        if before is not None:
            os.environ["HOLDFAST_SECRET_KEY"] = before


@contextmanager
def _stage(admin_url: str) -> Iterator[Stage]:
    name = f"{databases.TEST_PREFIX}demo_{os.getpid()}_{secrets.token_hex(3)}"
    owner = Database(databases.create_database(admin_url, name), "demo")
    login = f"{name}_app"
    try:
        migrate(owner)
        application = Database(databases.create_login(owner.url, login, secrets.token_urlsafe(16)), "demo")
        with _door() as (address, secret_key):
            stage = Stage(owner, application, address, secret_key)
            try:
                yield stage
            finally:
                stage.close()
    finally:
        with undisturbed():
            databases.drop_database(admin_url, name)
            databases.drop_login(admin_url, login)
