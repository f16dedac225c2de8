"""What a run starts does not outlive it, however it ends."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from guarantees.waiting import until
from guarantees.workers import TESTS, Launcher, WorkerProcess
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
    assert customers.stdout is not None
    assert customers.stdout.readline().startswith(b"http")

    customers.communicate()

    assert customers.returncode == 1


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
