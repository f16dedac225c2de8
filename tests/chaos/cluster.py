"""A PostgreSQL to be struck: durable, thrown away afterwards, stopped in every way, frozen, copied as a standby and promoted."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from guarantees.waiting import until
from holdfast.embedded import cluster as servers
from holdfast.embedded.account import Account, choose_account, spawn
from holdfast.embedded.binaries import Binaries, find_binaries
from holdfast.embedded.copies import reachable
from holdfast.embedded.creation import SUPERUSER, create
from holdfast.embedded.folder import Home, let_through, prepare_folder, prepare_home, write_private
from holdfast.embedded.ports import HOST, choose_port

SETTINGS = {
    **servers.SETTINGS,
    "max_connections": "120",
    "fsync": "on",
    "synchronous_commit": "on",
    "checkpoint_timeout": "30s",
    "max_wal_size": "256MB",
    "wal_sender_timeout": "5s",
    "log_lock_waits": "on",
    # A crash makes the server forget how many dead rows there are, and it looks for the first time after so long: with a crash a minute,
    # the default, nothing would ever be cleaned.
    "autovacuum_naptime": "10s",
}
PATIENCE = 120.0  # with machines that others use too; what is promised has bounds of its own
PROMOTED_WITHIN = 60


class Cluster:
    """One server on one folder."""

    def __init__(self, folder: Path, home: Home, binaries: Binaries, account: Account, log: Path) -> None:
        self.log = log  # not on the server's disk, which may be full
        self._folder = folder
        self._home = home
        self._binaries = binaries
        self._account = account
        self.port = choose_port(home.port)
        write_private(home.port, str(self.port))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def password(self) -> str:
        return self._home.password.read_text()

    @property
    def url(self) -> str:
        return f"postgresql://{SUPERUSER}:{self.password}@{HOST}:{self.port}/postgres"

    @property
    def data(self) -> Path:
        return self._home.data

    def program(self, name: str) -> str | None:
        """Find one of the programs that came with the server."""
        path = self._binaries.path(name)
        return path if Path(path).exists() else None

    # -- start and stop --------------------------------------------------------------------------------------------------

    def start(self, within: float = PATIENCE) -> None:
        """Start it and wait until it answers; one whose sessions still end is started again."""
        until("PostgreSQL starts", self._answers_or_start, within)

    def _answers_or_start(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            self._spawn()
        return self.answers()

    def _spawn(self) -> None:
        options = [
            part
            for name, value in {**SETTINGS, "port": str(self.port)}.items()
            for part in ("-c", f"{name}={value}")
        ]
        command = [self._binaries.path("postgres"), "-D", str(self._home.data), *options]
        with self.log.open("ab") as log:
            self._process = spawn(command, self._account, folder=self._home.folder, output=log)
        time.sleep(0.1)

    def answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=3):
                return True
        except psycopg.OperationalError:
            return False

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT: immediate, as a crash. SIGINT: fast, sessions are ended. SIGKILL: with all its children."""
        if not self.lives:
            return
        assert self._process is not None
        children = list(self.processes()) if how is signal.SIGKILL else []
        self._process.send_signal(how)
        self._process.wait(PATIENCE)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, PATIENCE)

    # -- worse ------------------------------------------------------------------------------------------------------------

    def processes(self) -> Iterator[psutil.Process]:
        """Give the postmaster and all it has forked."""
        with suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(self.pid)
            yield postmaster
            yield from postmaster.children(recursive=True)

    def freeze(self) -> None:
        """Stop every process of it, the postmaster first so that none is born meanwhile."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    # -- standby ----------------------------------------------------------------------------------------------------------

    def standby(self, folder: Path) -> "Cluster":
        """Make a copy that follows this server, once it is started."""
        program = self.program("pg_basebackup")
        assert program is not None
        prepare_folder(folder)
        home = Home(folder / self._home.folder.name)
        prepare_home(folder, home, self._account)
        write_private(home.password, self.password)
        copied = subprocess.run(
            [
                program,
                f"--dbname={self.url}",
                f"--pgdata={home.data}",
                "--write-recovery-conf",
                "--checkpoint=fast",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert copied.returncode == 0, copied.stderr
        for path in (home.data, *home.data.rglob("*")):
            os.chown(path, self._account.uid, self._account.gid, follow_symlinks=False)
        home.data.chmod(0o700)
        return Cluster(folder, home, self._binaries, self._account, self.log.with_name(f"{folder.name}.log"))

    def promote(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            answer = connection.execute(f"select pg_promote(true, {PROMOTED_WITHIN})").fetchone()
            assert answer == (True,), f"the standby was not promoted within {PROMOTED_WITHIN} s"
        self.wait_for_no_standby()

    def wait_for_no_standby(self) -> None:
        """Have commits wait for this server alone."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("alter system reset synchronous_standby_names")
            connection.execute("select pg_reload_conf()")

    def remove(self) -> None:
        """End it and forget what it held."""
        if self.lives:
            self.thaw()
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def make_cluster(place: Path, log: Path, major: int | None = None) -> Cluster:
    """Make and start an empty server, of that version where one is named, in a folder of root's or our own.

    The programs stay there when the server has gone.
    """
    prepare_folder(place)
    account = choose_account(None)
    let_through(place, account)
    binaries = reachable(find_binaries(major), account, place)
    folder = place / "first"
    prepare_folder(folder)
    home = Home(folder / str(binaries.major))
    prepare_home(folder, home, account)
    create(home, binaries, account, durable=True)
    made = Cluster(folder, home, binaries, account, log)
    try:
        made.start()
    except BaseException:
        made.remove()
        raise
    return made
