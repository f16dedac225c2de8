"""The units of systemd: understood by it, and hardened by its own measure."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploying.files import UNITS, unit

# Of 100, the fewer the better; what an ordinary unit without any of this has is 96.
MOST_EXPOSED = 15
# Some of these imply each other, and the measure does not miss one alone.
HARDENED = {
    "DynamicUser": ["yes"],
    "NoNewPrivileges": ["yes"],
    "CapabilityBoundingSet": [],
    "ProtectSystem": ["strict"],
    "ProtectHome": ["yes"],
    "PrivateUsers": ["yes"],
    "PrivateTmp": ["yes"],
    "PrivateDevices": ["yes"],
}

each_unit = pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)


def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("NOT RUN: systemd-analyze is not installed here")
    return found


@each_unit
def test_a_unit_is_understood(path: Path, tmp_path: Path) -> None:
    program = analyze()
    # It looks whether the program is there.
    here = tmp_path / path.name
    here.write_text(path.read_text().replace("/opt/shop/.venv/bin/holdfast", sys.executable))

    said = subprocess.run(
        [program, "verify", "--man=no", str(here)], check=False, capture_output=True, text=True
    )

    about = [line for line in said.stderr.splitlines() if path.stem in line]
    assert (said.returncode, about) == (0, []), said.stderr


@each_unit
def test_a_unit_is_hardened(path: Path) -> None:
    said = subprocess.run(
        [analyze(), "security", "--no-pager", "--offline=yes", f"--threshold={MOST_EXPOSED}", str(path)],
        check=False,
        capture_output=True,
        text=True,
    )

    assert said.returncode == 0, said.stdout[-500:] + said.stderr
    assert unit(path).items() >= HARDENED.items()


@each_unit
def test_a_unit_keeps_no_secret_in_its_environment(path: Path) -> None:
    told = unit(path)
    files = [each for each in told["Environment"] if "_FILE=" in each]

    given = {each.partition(":")[0] for each in told["LoadCredential"]}

    assert {each.rpartition("%d/")[2] for each in files} == given
    assert not [each for each in told["Environment"] if "://" in each]
