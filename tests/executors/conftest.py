"""A world for executors: GitHub on loopback, the door for callbacks, and an app between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps._world.github import TOKEN, GitHub, simulated
from apps._world.serving import served
from executors.stage import SECRET, Stage
from holdfast import GitHubActions, Holdfast
from holdfast.server import callbacks
from holdfast.testing import ScratchDatabase


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    with simulated(tmp_path, SECRET) as github:
        yield github


@pytest.fixture
def stage(
    app: Holdfast, github: GitHub, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> Iterator[Stage]:
    executor = app.executor(
        GitHubActions(
            "acme",
            "agents",
            "provision-agent.yml",
            token=TOKEN,
            secret=SECRET,
            api_url=github.url,
            allow=["127.0.0.0/8"],
        )
    )
    with served(callbacks(app)) as url:
        executor._callback_url = url
        yield Stage(app, github, owner, holdfast_db, url)
        for run in github.runs:
            run.vanish()
