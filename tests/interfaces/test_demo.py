import os
import subprocess
import sys
from pathlib import Path

from holdfast.interfaces.demo.stories import STORIES
from holdfast.testing import TestServer


def test_every_story_of_the_demo_holds(holdfast_server: TestServer, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PG"))}
    command = [sys.executable, "-m", "holdfast.interfaces.cli", "demo", "--check"]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**kept, "HOLDFAST_DATABASE_URL": holdfast_server.admin_url, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith("✓ ok") for line in lines[:-1])
    assert lines[-1].startswith(f"{len(STORIES)} of {len(STORIES)} stories hold")
