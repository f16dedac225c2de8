"""What a run starts does not outlive it, however it ends."""

from pathlib import Path

import psutil

from guarantees.waiting import until
from guarantees.workers import Launcher, WorkerProcess
from holdfast.testing import ScratchDatabase


def test_workers_end_with_the_process_that_asked_for_them(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    launcher = Launcher()
    worker = WorkerProcess(launcher, tmp_path, 1, {}, {"HOLDFAST_DATABASE_URL": holdfast_db.url})
    worker.until_ready()

    launcher.close()

    until("the worker has ended too", lambda: not _lives(worker.pid))


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
