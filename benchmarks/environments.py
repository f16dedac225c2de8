"""The peers' environments: one folder each under .environments, made from hash-pinned lists, made again when a list changes."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"
ENVIRONMENTS = HERE / ".environments"
SYSTEM_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


class EnvironmentMissing(Exception):
    """A peer cannot be installed here; the harness goes on without it and says so."""


def python_of(peer: str) -> Path:
    """Return the interpreter of a Python peer's environment, making the environment first."""
    requirements = PEERS / f"requirements-{peer}.txt"
    folder = ENVIRONMENTS / peer
    python = folder / "bin" / "python"
    made_from = sys.version + _digest(requirements)
    if not _is_current(folder, made_from):
        print(f"bench: installing {peer}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        _install([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", requirements], HERE)
        _remember(folder, made_from)
    return python


def node_folder() -> Path:
    """Return the folder with the Node peers' modules and scripts, making it first."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise EnvironmentMissing("there is no Node.js here (neither `node` nor `npm` may be missing)")
    folder = ENVIRONMENTS / "node"
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    made_from = version + _digest(PEERS / "package-lock.json")
    if not _is_current(folder, made_from):
        print("bench: installing the Node peers", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(PEERS / name, folder)
        _install([npm, "ci", "--ignore-scripts", "--loglevel=error"], folder)
        _remember(folder, made_from)
    # Node looks for modules beside the script, so the scripts go to the modules.
    for script in PEERS.glob("*.mjs"):
        shutil.copy(script, folder)
    return folder


def _install(command: list[str | Path], folder: Path) -> None:
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    certificates = next((path for path in SYSTEM_CERTIFICATES if Path(path).exists()), None)
    if certificates is not None:
        # Node trusts only its own certificates unless told otherwise, which fails behind a proxy with one of its own.
        environment.setdefault("NODE_EXTRA_CA_CERTS", certificates)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentMissing(
            f"{Path(command[0]).name} could not install it: {done.stderr.strip()[-500:]}"
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_current(folder: Path, made_from: str) -> bool:
    mark = folder / ".made-from"
    return mark.exists() and mark.read_text(encoding="utf-8") == made_from


def _remember(folder: Path, made_from: str) -> None:
    (folder / ".made-from").write_text(made_from, encoding="utf-8")
