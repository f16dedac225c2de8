"""A minute of chaos with every run of the tests: the strikes that matter most, and one that the seed picks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.__main__ import CORE
from guarantees.workers import TESTS


@pytest.mark.timeout(300)
def test_nothing_is_lost_doubled_or_late_while_a_nemesis_strikes(tmp_path: Path) -> None:
    seed = os.environ.get("HOLDFAST_CHAOS_SEED", "4")
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    ran = subprocess.run(
        [sys.executable, "-m", "chaos", "--quick", f"--seed={seed}", f"--out={tmp_path}"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    (file,) = tmp_path.glob("chaos-*.json")
    report = json.loads(file.read_text("utf-8"))
    assert report["findings"] == []
    assert report["recoveries"] > 0
    assert report["calms"] > 0
    landed = {kind.partition(":")[0] for kind, told in report["strikes"].items() if told["landed"]}
    assert {*CORE} - report["not_run"].keys() <= landed
    if report["not_run"]:
        pytest.skip(f"NOT RUN: nothing was wrong, but nothing struck by {report['not_run']} either")
