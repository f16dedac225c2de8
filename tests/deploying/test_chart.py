"""The Helm chart: linted and rendered by Helm, and what it renders measured by Kubernetes' own schemas."""

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploying.files import CHART, ROOT
from deploying.test_words import GOODBYE, understand
from deploying.tools import TOOLS, tool, tool_file

EVERYTHING = {
    "secret": "shop-secrets",
    "serviceAccountName": "shop",
    "imagePullSecrets": [{"name": "registry"}],
    "podAnnotations": {"example.com/owner": "shop"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "jobs", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "worker": {"queues": "billing:5,default:20", "drainTimeout": 100, "env": {"SHOP": 1}},
    "server": {
        "parts": "api,live,health,metrics",
        "baseUrl": "https://jobs.example.com",
        "allowedHosts": "jobs.example.com",
        "trustedProxies": "10.0.0.0/8",
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "annotations": {"example.com/a": "b"},
            "tlsSecret": "jobs-tls",
        },
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {
        "enabled": True,
        "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
    },
}
CASES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "with everything": EVERYTHING,
    "a server alone": {"worker": {"enabled": False}, "migrate": {"enabled": False}},
}
each_case = pytest.mark.parametrize("case", CASES)
NEWEST = "1.35"
OLDEST = "1.29"


def helm(*arguments: str, values: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
    """Let Helm do something with the chart; it looks at no settings of whoever runs the tests."""
    return subprocess.run(
        [tool("helm"), *arguments, str(CHART), "--values", "-"],
        input=yaml.safe_dump(values),
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )


@cache
def rendered(case: str) -> list[dict[str, Any]]:
    """Give what Helm makes of the chart; nobody changes it."""
    said = helm("template", "shop", values=CASES[case])
    assert said.returncode == 0, said.stderr
    return [each for each in yaml.safe_load_all(said.stdout) if each]


def pods(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Give the pods by what they run."""
    found = [each["spec"]["template"]["spec"] for each in documents if each["kind"] in {"Deployment", "Job"}]
    return {pod["containers"][0]["name"]: pod for pod in found}


@each_case
def test_helm_finds_nothing_wrong(case: str) -> None:
    said = helm("lint", "--strict", values=CASES[case])

    assert said.returncode == 0, said.stdout + said.stderr


@each_case
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_would_take_what_is_rendered(case: str, version: str, tmp_path: Path) -> None:
    tool_file("kubernetes_validate")
    documents = [each for each in rendered(case) if each["kind"] != "ServiceMonitor"]
    written = tmp_path / "rendered.yaml"
    written.write_text(yaml.safe_dump_all(documents))

    said = subprocess.run(
        [sys.executable, "-m", "kubernetes_validate", "--strict", "-k", version, str(written)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOOLS)},
    )

    assert said.returncode == 0, said.stdout + said.stderr
    assert len(documents) >= 3


def test_everything_that_can_be_switched_on_is_rendered() -> None:
    kinds = sorted(each["kind"] for each in rendered("with everything"))

    assert kinds == [
        "Deployment", "Deployment", "Ingress", "Job", "NetworkPolicy", "NetworkPolicy",
        "PodDisruptionBudget", "PodDisruptionBudget", "Service", "ServiceMonitor",
    ]  # fmt: skip


@each_case
def test_selectors_find_the_pods_they_mean(case: str) -> None:
    documents = rendered(case)
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in documents
        if each["kind"] == "Deployment"
    }

    for each in documents:
        spec = each["spec"]
        selector = spec.get("podSelector", spec.get("selector"))
        if each["kind"] not in {"Job", "Ingress", "ServiceMonitor"}:
            wanted = selector.get("matchLabels", selector)
            found = [name for name, own in labels.items() if wanted.items() <= own.items()]
            assert len(found) == 1, each["metadata"]["name"]
            assert found[0].startswith(each["metadata"]["name"])


@each_case
def test_pods_keep_to_the_restricted_level(case: str) -> None:
    for pod in pods(rendered(case)).values():
        (container,) = pod["containers"]

        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_a_service_called_holdfast_sets_no_variable_of_ours() -> None:
    # Kubernetes would set HOLDFAST_PORT=tcp://… in every pod, which is where we look for a port.
    assert {pod["enableServiceLinks"] for pod in pods(rendered("as it is")).values()} == {False}


@each_case
def test_a_worker_has_time_to_drain(case: str) -> None:
    worker = pods(rendered(case)).get("worker")

    if worker is not None:
        told = {each["name"]: each.get("value") for each in worker["containers"][0]["env"]}
        drain = int(told["HOLDFAST_DRAIN_TIMEOUT"])
        assert worker["terminationGracePeriodSeconds"] > drain + GOODBYE


def test_servers_are_asked_how_they_are_and_every_process_has_its_login() -> None:
    found = pods(rendered("as it is"))
    server = found["server"]["containers"][0]

    assert server["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
    assert server["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    for name, pod in found.items():
        (container,) = pod["containers"]
        understand(container["args"])
        assert container["env"][0]["valueFrom"]["secretKeyRef"] == {
            "name": "holdfast-database",
            "key": f"{name}-url",
        }


def test_the_migration_comes_first() -> None:
    (job,) = (each for each in rendered("as it is") if each["kind"] == "Job")

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


@pytest.mark.parametrize(
    "values",
    [
        {"app": "no attribute"},
        {"server": {"parts": "api,live"}},
        {"worker": {"replica": 3}},
        {"env": {"lower": "x"}},
    ],
    ids=str,
)
def test_values_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    said = helm("template", "shop", values=values)

    assert said.returncode != 0
    assert "schema" in said.stderr


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["appVersion"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
