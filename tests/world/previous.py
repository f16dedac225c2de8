"""The release before this one, as there is none yet: the source before the newest migration, taken out of git."""

import os
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

# A copy of the source, as scripts/mutants makes one, is no repository.
REPOSITORY = Path(os.environ.get("HOLDFAST_TEST_REPOSITORY", Path(__file__).resolve().parents[2]))
VARIABLE = "HOLDFAST_TEST_PREVIOUS"


def previous_commit() -> str:
    """Name the commit that plays the previous release: what HOLDFAST_TEST_PREVIOUS says, or the last one before the newest migration."""
    if named := os.environ.get(VARIABLE):
        return named
    found = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "src/holdfast/store/sql/migrations"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{found.stdout.strip()}~1"


def previous_source(folder: Path) -> tuple[Path | None, str | None]:
    """Give the sources of the previous release, and why not."""
    place = folder / "previous"
    if (place / "src").exists():
        return place / "src", None
    if shutil.which("git") is None:
        return None, "there is no git here to take an earlier release from"
    packed = subprocess.run(
        ["git", "archive", "--format=tar", previous_commit(), "src"],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    if packed.returncode != 0:
        which = os.environ.get(VARIABLE, "commit before the newest migration")
        return None, f"git has no {which} here to take as the earlier release"
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as files:
        if hasattr(tarfile, "data_filter"):  # since 3.11.4, and told to be used since 3.12
            files.extraction_filter = tarfile.data_filter
        files.extractall(place)
    return place / "src", None
