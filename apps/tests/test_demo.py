"""python -m apps: what scripts/demo --check plays after Holdfast's own stories."""

import os
import subprocess
import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

import apps.__main__ as demo
from apps._stage import Stage, StoryFailed
from apps._tables import ROOT
from holdfast.testing import ScratchDatabase, TestServer


def test_a_product_is_played_on_a_database_of_its_own(holdfast_server: TestServer) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PG"))}

    done = subprocess.run(
        [sys.executable, "-m", "apps", "org_jobs"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**kept, "HOLDFAST_DATABASE_URL": holdfast_server.admin_url},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["✓", "ok", "org_jobs", "happy"],
        ["✓", "ok", "org_jobs", "failing"],
    ]
    assert last.startswith("2 of 2 stories hold")


async def test_a_story_that_does_not_hold_says_why_and_is_counted(
    holdfast_db: ScratchDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    async def failing(_stage: Stage, _world: object) -> str:
        raise StoryFailed("there are two invoices")

    story = ModuleType("story")
    story.failing = failing  # type: ignore[attr-defined]

    assert not await demo.play_one(story, "failing", Stage("shop", holdfast_db, ""), None)
    assert "✗ fail  shop failing" in capsys.readouterr().out.replace("\x1b", "")


def test_an_unknown_product_is_refused() -> None:
    said = CliRunner().invoke(demo.main, ["no_such"])

    assert said.exit_code != 0
    assert "org_jobs" in said.output
