"""What the tasks come to where nothing strikes is what the judge expects of them."""

import time
from itertools import chain
from pathlib import Path

import psycopg
import pytest

from chaos import app as work
from chaos import judge
from chaos.evidence import Evidence, gather
from chaos.world import Plan
from holdfast.testing import ScratchDatabase
from world.draining import drain


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOS_FOLDER", str(tmp_path))
    monkeypatch.setattr(work, "_ledgers", {})
    return tmp_path


def gathered(database: ScratchDatabase, folder: Path) -> Evidence:
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        return gather(connection, folder, [], plan=Plan(seed=1, rate=1), loaded_until=time.time())


def test_a_job_with_children_keeps_and_finds_its_checkpoint_and_adds_up_what_they_came_to(
    holdfast_db: ScratchDatabase, folder: Path
) -> None:
    holdfast_db.create_schema("chaos")
    with psycopg.connect(holdfast_db.url) as connection:
        connection.execute(work.SCHEMA)
    holdfast_db.use(work.app)
    work.gathers.using(label="nemesis").enqueue(5)

    drain(work.app)

    evidence = gathered(holdfast_db, folder)
    ended = {job.task: job for job in evidence.jobs.values() if job.task in {"gathers", "squares"}}
    assert (ended["gathers"].status, ended["gathers"].result) == ("COMPLETED", 25 + 36)
    assert ended["squares"].parent == ended["gathers"].id
    assert [note["kept"] for note in evidence.ledger if note["event"] == "recalled"] == [None, 1]
    looked = (judge.origins, judge.ends, judge.results, judge.effects, judge.ledger, judge.claims)
    assert list(chain(*(check(evidence) for check in (*looked, judge.checkpoints, judge.children)))) == []
