"""What a run starts does not outlive it, however it ends."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from chaos.world import PREFIX
from guarantees.waiting import PATIENCE, until
from guarantees.workers import TESTS, Launcher, WorkerProcess
from holdfast.embedded.throwaway import RAM_DISK, place_on_disk
from holdfast.testing import ScratchDatabase


def test_workers_end_with_the_process_that_asked_for_them(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    launcher = Launcher()
    worker = WorkerProcess(launcher, tmp_path, 1, {}, {"HOLDFAST_DATABASE_URL": holdfast_db.url})
    worker.until_ready()

    launcher.close()

    until("the worker has ended too", lambda: not _lives(worker.pid))


def test_customers_end_with_the_process_that_asked_for_them(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    customers = subprocess.Popen(
        [sys.executable, "-m", "chaos.customers", "1", "1", "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
            "CHAOS_FOLDER": str(tmp_path),
            "HOLDFAST_DATABASE_URL": holdfast_db.url,
        },
    )
    try:
        assert customers.stdout is not None
        assert customers.stdout.readline().startswith(b"http")

        customers.communicate(timeout=PATIENCE)

        assert customers.returncode == 1
    finally:
        customers.kill()
        customers.communicate()


def test_a_run_that_is_told_to_end_judges_what_it_has_and_leaves_nothing_behind(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    with subprocess.Popen(
        [sys.executable, "-m", "chaos", "--quick", f"--out={tmp_path}"],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        try:
            assert run.stdout is not None
            assert run.stdout.readline().startswith("chaos: seed")
            run.terminate()
            said, _ = run.communicate(timeout=PATIENCE * 4)
        finally:
            run.kill()

    assert run.returncode == 0, said
    assert "0 findings" in said
    assert list(tmp_path.glob("chaos-*.json"))
    assert [
        place for parent in (RAM_DISK, place_on_disk()) for place in parent.glob(f"{PREFIX}{run.pid}-*")
    ] == []


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
