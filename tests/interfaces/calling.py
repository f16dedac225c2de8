"""The command line as tests call it: in this process, or waiting for a real one."""

import json
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from holdfast.interfaces.cli import main
from holdfast.interfaces.ending import staying
from holdfast.testing import ScratchDatabase

TESTS = Path(__file__).parent.parent
APP = "interfaces.shop_app:app"
# Generous: a process that begins on a busy machine takes its time.
PATIENCE = 60.0
HOLDFAST = [sys.executable, "-m", "holdfast.interfaces.cli"]


class Cli:
    """Calls `holdfast` and keeps stdout and stderr apart."""

    def __init__(self, database: ScratchDatabase) -> None:
        self.database = database

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> Result:
        result = self.told(*arguments, **environment)
        assert result.exit_code == code, f"{arguments} ended with {result.exit_code}\n{result.output}"
        return result

    def told(self, *arguments: str, **environment: str) -> Result:
        """Call it, however it ends."""
        given = ["--database-url", self.database.url, *arguments]
        with staying():  # whatever threads earlier tests have left here
            result = CliRunner(env={"HOLDFAST_APP": None, "NO_COLOR": "1", **environment}).invoke(main, given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "-o", "json", code=code).stdout)

    def enqueue(self, task: str, payload: str = "{}", *options: str) -> str:
        return self("-a", APP, "enqueue", task, payload, *options).stdout.strip()
