"""The image and the compose file: linted, consistent, and built from what the image is given."""

import json
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import jsonschema
import pytest

from deploying.files import DEPLOY, ROOT, compose, dockerfile, ours
from deploying.tools import tool, tool_file
from holdfast.interfaces.http.dashboard import statics


def test_the_dockerfile_is_linted() -> None:
    said = subprocess.run(
        [tool("hadolint"), "--failure-threshold", "info", str(DEPLOY / "Dockerfile")],
        check=False,
        capture_output=True,
        text=True,
    )

    assert said.returncode == 0, said.stdout + said.stderr


def last_stage() -> str:
    return dockerfile().rpartition("\nFROM ")[2]


def test_the_last_stage_runs_as_nobody_special_and_builds_nothing() -> None:
    told = dict(re.findall(r"^(USER|STOPSIGNAL|ENTRYPOINT) (.+)$", last_stage(), re.MULTILINE))

    assert told == {"USER": "10001:10001", "STOPSIGNAL": "SIGTERM", "ENTRYPOINT": '["holdfast"]'}
    assert not re.search(r"\b(pip|apt-get|gcc|curl|wget)\b", last_stage())


def test_everything_is_installed_by_its_hash() -> None:
    installs = re.findall(r"pip [^&\n]*install [^&\n]*", dockerfile())

    assert len(installs) == 3
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)


def is_sent(path: str) -> bool:
    """Whether .dockerignore lets a file through to whoever builds: the last line that fits decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!").removeprefix("**/")
            parents = [path, *(str(parent) for parent in Path(path).parents)]
            names = Path(path).parts if "**/" in line else parents
            if any(fnmatch(name, pattern) for name in names):
                sent = line.startswith("!")
    return sent


@pytest.mark.skipif(
    bool(statics.missing()),
    reason="NOT RUN: the browser libraries were not fetched (scripts/vendor gets them)",
)
def test_the_package_is_built_from_what_the_image_is_given(tmp_path: Path) -> None:
    build_stage = dockerfile().partition("\nFROM ")[2].partition("\nFROM ")[0]
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", build_stage, re.MULTILINE):
        for source in sources.split():
            found = [path for path in sorted((ROOT / source).rglob("*")) or [ROOT / source] if path.is_file()]
            for path in [path for path in found if is_sent(str(path.relative_to(ROOT)))]:
                target = tmp_path / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    (wheel_line,) = re.findall(r"python -m (pip wheel .+?) \\$", build_stage, re.MULTILINE)

    subprocess.run([sys.executable, "-m", *wheel_line.split()], cwd=tmp_path, check=True, capture_output=True)

    (wheel,) = (tmp_path / "dist").glob("holdfast-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert {name.removeprefix("src/") for name in tracked} - names == set()


def test_the_image_has_what_every_extra_of_a_service_needs() -> None:
    pinned = (ROOT / "requirements" / "service.txt").read_text()

    for name in (
        "psycopg-binary",
        "uvicorn",
        "starlette",
        "httpx",
        "stripe",
        "cryptography",
        "opentelemetry-api",
    ):
        assert f"{name}==" in pinned


def test_the_image_has_the_versions_that_are_tested() -> None:
    def versions(name: str) -> dict[str, str]:
        return dict(
            re.findall(r"^([\w.\-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        )

    tested, shipped = versions("dev.txt"), versions("service.txt") | versions("build.txt")

    assert {name: version for name, version in shipped.items() if tested.get(name) != version} == {}


# -- compose -----------------------------------------------------------------------------------------------------------------


def test_the_compose_file_is_one() -> None:
    schema = json.loads(tool_file("check_jsonschema/builtin_schemas/vendor/compose-spec.json").read_text())

    jsonschema.validate(compose(), schema)


def test_every_process_has_its_own_login_and_no_other() -> None:
    services = ours(compose()["services"])

    urls = {name: service["environment"]["HOLDFAST_DATABASE_URL_FILE"] for name, service in services.items()}

    assert urls == {name: f"/run/secrets/{name}-url" for name in ("migrate", "worker", "server")}
    for name, service in services.items():
        assert {each for each in service["secrets"] if each.endswith("-url")} == {f"{name}-url"}


def test_processes_start_when_the_schema_is_there() -> None:
    services = compose()["services"]

    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("worker", "server"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


def test_nothing_is_reached_from_outside_but_the_server_on_loopback() -> None:
    published = {
        name: service["ports"] for name, service in compose()["services"].items() if "ports" in service
    }

    assert published == {"server": ["127.0.0.1:7070:7070"]}


@pytest.mark.parametrize("name", ["migrate", "worker", "server"])
def test_a_container_may_do_nothing_that_it_need_not(name: str) -> None:
    service = compose()["services"][name]

    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_files_that_the_compose_file_mounts_are_there(tmp_path: Path) -> None:
    subprocess.run(["sh", str(DEPLOY / "compose" / "make-secrets"), str(tmp_path / "secrets")], check=True)
    made = {path.name for path in (tmp_path / "secrets").iterdir()}
    mounted = [
        volume.partition(":")[0]
        for service in compose()["services"].values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]

    assert [path for path in mounted if not (DEPLOY / path).exists()] == []
    assert {Path(secret["file"]).name for secret in compose()["secrets"].values()} == made


def test_secrets_are_made_once_and_lie_where_nobody_else_looks(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    command = ["sh", str(DEPLOY / "compose" / "make-secrets"), str(folder)]

    subprocess.run(command, check=True)
    first = {path.name: path.read_text() for path in folder.iterdir()}
    subprocess.run(command, check=True)

    assert {path.name: path.read_text() for path in folder.iterdir()} == first
    assert len(set(first.values())) == len(first)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
