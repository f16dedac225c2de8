"""What is in the repository: pinned, self-contained, and nobody's machine."""

import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = sorted([*ROOT.glob("requirements/*.txt"), *ROOT.glob("benchmarks/peers/requirements-*.txt")])

# Written in pieces, or this file would be the first to break its own rule.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("registry", "npmjs", "org"),
        ("npmjs", "com"),
    )
]
MACHINE_PATHS = re.compile(r"(?<![\w.\-/])/(work|root|home/\w+|Users/\w+)/[\w.]")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "ignore")


def test_no_package_registry_is_named() -> None:
    named = {
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if any(host in text_of(path) for host in HOSTS)
    }

    assert named == set()


def test_no_path_of_somebodys_machine_is_named() -> None:
    named = {
        path.relative_to(ROOT).as_posix(): found[0]
        for path in tracked()
        if (found := MACHINE_PATHS.search(text_of(path)))
    }

    assert named == {}


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_requirement_is_pinned_and_hashed(path: Path) -> None:
    joined = path.read_text().replace("\\\n", " ")
    wanted = [
        line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith(("#", "--"))
    ]

    loose = [line for line in wanted if not re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)]

    assert wanted
    assert loose == []


def test_the_package_is_pinned_with_everything_it_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    wanted = {re.split(r"[ \[<>=;]", name)[0].lower() for name in [*project["dependencies"], *extras]}
    pinned = set(
        re.findall(r"^([\w.\-]+)==", (ROOT / "requirements" / "dev.txt").read_text().lower(), re.MULTILINE)
    )

    assert wanted - {re.sub(r"\[.*", "", name) for name in pinned} - {"psycopg"} == set()


def test_the_words_that_names_are_made_of_are_explained() -> None:
    (named,) = re.findall(
        r"^  ([\w, ]+) mean what \[ARCHITECTURE", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    (explained,) = re.findall(
        r"^## The words$(.+?)^## ", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE | re.DOTALL
    )

    assert named.lower().split(", ") == re.findall(r"^\| (\w+) \| ", explained, re.MULTILINE)[1:]


def test_the_changelog_begins_with_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[?(\d+\.\d+\.\d+)", changes, re.MULTILINE)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    assert versions[0] == declared == version("holdfast")
