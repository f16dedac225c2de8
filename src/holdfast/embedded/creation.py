"""Makes an empty database cluster, whole or not at all."""

import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from holdfast.embedded.account import Account, spawn
from holdfast.embedded.binaries import Binaries
from holdfast.embedded.errors import EmbeddedError
from holdfast.embedded.folder import Home, let_through, sync_folder, write_private

SUPERUSER = "postgres"
UNFINISHED = "unfinished-"
BUILTIN_LOCALE_SINCE = 17
SCRAM_ITERATIONS_SINCE = 16


def create(home: Home, binaries: Binaries, account: Account, *, durable: bool) -> None:
    """Run initdb beside the final place and move the result there, so that a killed one leaves no half."""
    if home.data.exists():
        raise EmbeddedError(f"{home.data} exists but is no PostgreSQL data folder. Move it away.")
    for left_over in home.folder.glob(f"{UNFINISHED}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    # A name of its own: the initdb of somebody who was killed may still be writing.
    unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=home.folder))
    password = secrets.token_urlsafe(24)
    # Written before the data it opens: a crash in between leaves no data without its password.
    write_private(home.password, password)
    _initdb(unfinished, password, binaries, account, durable=durable)
    (unfinished / "data").rename(home.data)
    shutil.rmtree(unfinished)
    if durable:
        sync_folder(home.folder)


def _initdb(folder: Path, password: str, binaries: Binaries, account: Account, *, durable: bool) -> None:
    # initdb reads it as the server's account, who may not read ours.
    password_file = folder / "password"
    write_private(password_file, password)
    data = folder / "data"
    data.mkdir(mode=0o700)
    let_through(folder, account)
    for path in (password_file, data):
        os.chown(path, account.uid, account.gid)
    files = [f"--pgdata={data}", f"--pwfile={password_file}"]
    command = [binaries.path("initdb"), *files, *_options(binaries.major, durable=durable)]
    with spawn(command, account, folder=folder, output=subprocess.PIPE) as process:
        said, _ = process.communicate()
    if process.returncode != 0:
        raise EmbeddedError(
            f"{command[0]} could not make {data}. It said:\n{said.decode('utf-8', 'replace').strip()}"
        )


def _options(major: int, *, durable: bool) -> list[str]:
    options = [f"--username={SUPERUSER}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale"]
    if major >= BUILTIN_LOCALE_SINCE:
        # Sorts like C, and knows upper and lower case of every alphabet.
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if not durable:
        options.append("--no-sync")
    if not durable and major >= SCRAM_ITERATIONS_SINCE:
        # Stretching is for passwords that people choose; it would be half the price of every connection.
        options.append("--set=scram_iterations=1")
    return options
