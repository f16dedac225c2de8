"""Runs a workflow's shell steps as GitHub's runner would: the delivered file, real processes, the delivered callback script."""

import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "integrations" / "github"
WORKFLOW = FOLDER / "provision-agent.yml"
SCRIPT = FOLDER / "holdfast-callback.sh"
PATIENCE = 30.0

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Step:
    """One step; without a script it uses an action, which is not simulated."""

    name: str
    condition: str = "success()"
    identity: str | None = None
    script: str | None = None
    env: dict[str, str] = field(default_factory=dict)


@dataclass
class Workflow:
    """What is needed of the file; it is read by its own layout, which keeps the file plain."""

    run_name: str
    inputs: list[str]
    timeout_minutes: int
    env: dict[str, str]
    steps: list[Step]


def read_workflow(path: Path = WORKFLOW) -> Workflow:
    """Read a workflow file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(lines)
    inputs = re.findall(r"^      (\w+):$", text.split("inputs:")[1].split("permissions:")[0], re.MULTILINE)
    run_name = re.search(r'^run-name: "(.*)"$', text, re.MULTILINE)
    minutes = re.search(r"^    timeout-minutes: (\d+)$", text, re.MULTILINE)
    if run_name is None or minutes is None:
        raise ValueError(f"{path} has no run-name or no timeout-minutes")
    job_env = _mapping(text.split("\n    env:\n")[1].split("\n    steps:\n")[0], 6)
    steps = [
        _step(part)
        for part in re.split(r"^      - ", text.split("\n    steps:\n")[1], flags=re.MULTILINE)[1:]
    ]
    return Workflow(run_name[1], inputs, int(minutes[1]), job_env, steps)


def _mapping(text: str, indent: int) -> dict[str, str]:
    return dict(re.findall(rf"^ {{{indent}}}(\w+): (.*)$", text, re.MULTILINE))


def _step(text: str) -> Step:
    head, _, block = text.partition("        run: |\n")
    facts = dict(re.findall(r"^(?: {8})?(\w+): (.*)$", head, re.MULTILINE))
    env = _mapping(head.partition("        env:\n")[2], 10)
    script = "\n".join(line[10:] for line in block.splitlines()) if block else None
    return Step(facts["name"], facts.get("if", "success()"), facts.get("id"), script, env)


class Run:
    """One run of a workflow, in a thread of its own.

    `known` are the repository's `secrets.…` and `vars.…`; `machine` replaces the script of the step with the id machine.
    """

    def __init__(
        self,
        run_id: int,
        inputs: dict[str, Any],
        folder: Path,
        *,
        path: Path = WORKFLOW,
        known: Mapping[str, str],
        machine: str | None = None,
        beat: float = 60.0,
    ) -> None:
        self.id = run_id
        self.inputs = inputs
        self.conclusion: str | None = None
        self.ran: list[str] = []
        self.output = ""
        self.folder = folder
        self._known = dict(known)
        self._machine = machine
        self._beat = beat
        self._state = "success"
        self._outputs: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self._groups: list[int] = []  # of the steps' processes
        self._workflow = read_workflow(path)
        self._lock = threading.Lock()
        self.name = self._filled(self._workflow.run_name)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Check the repository out, and begin."""
        shutil.copytree(FOLDER, self.folder / ".github")
        (self.folder / "temp").mkdir()
        for name in ("env", "output"):
            (self.folder / name).touch()
        self.thread.start()

    def cancel(self) -> bool:
        """Stop the step that runs; later steps run if they ask to be run always or when cancelled."""
        with self._lock:
            if self.conclusion is not None:
                return False
            self._state = "cancelled"
            self._kill()
        return True

    def vanish(self) -> None:
        """Stop it as a runner stops that loses its machine: nothing more is said."""
        with self._lock:
            if self.conclusion is None:
                self._state = "vanished"
                self._kill()
        self.thread.join(PATIENCE)

    def _run(self) -> None:
        for step in self._workflow.steps:
            if step.script is not None and self._state != "vanished" and self._wanted(step.condition):
                self._perform(step)
        self._end_orphans()
        with self._lock:
            self.conclusion = self._state

    def _end_orphans(self) -> None:
        """End what steps have left running, as a runner does: a heartbeat that nobody stopped, and its pause."""
        for group in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def _wanted(self, condition: str) -> bool:
        states = {
            "always()": True,
            "success()": self._state == "success",
            "failure()": self._state == "failure",
        }
        states["cancelled()"] = self._state == "cancelled"
        return any(states[part.strip()] for part in condition.split("||"))

    def _perform(self, step: Step) -> None:
        script = step.script or ""
        if step.identity == "machine" and self._machine is not None:
            script = self._machine
        script = script.replace("beat 60", f"beat {self._beat}")
        env = {**self._workflow.env, **step.env}
        environment = {
            "PATH": os.environ["PATH"],
            "GITHUB_ENV": str(self.folder / "env"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "HOLDFAST_TRIES": "4",
            **{name: self._filled(value) for name, value in env.items()},
            **_pairs(self.folder / "env"),
        }
        with self._lock:
            self._process = subprocess.Popen(
                ["sh", "-e", "-c", script], cwd=self.folder, env=environment, text=True,  # noqa: S607 - PATH's, as on a runner
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._groups.append(self._process.pid)
        output, _ = self._process.communicate()
        self.ran.append(step.name)
        self.output += output
        self._outputs = _pairs(self.folder / "output")
        with self._lock:
            if self._process.returncode != 0 and self._state == "success":
                self._state = "failure"

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _filled(self, text: str) -> str:
        known = {
            "github.run_id": str(self.id),
            "github.server_url": "https://github.example",
            "github.repository": "acme/agents",
            **self._known,
            "steps.machine.outputs.result": "",
            **{f"steps.machine.outputs.{name}": value for name, value in self._outputs.items()},
            **{f"inputs.{name}": str(value) for name, value in self.inputs.items()},
        }
        return _EXPRESSION.sub(lambda found: known[found[1]], text)


def _pairs(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text("utf-8").splitlines() if "=" in line)
