"""What the deployment files start, started: against real databases, with the logins they make."""

import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg
import pytest
from psycopg import conninfo

from deploying.files import APP_FOLDER, DEPLOY, UNITS, compose, dockerfile, ours, procfile, unit, variables_of
from guarantees.waiting import until
from holdfast.embedded.binaries import find_binaries
from holdfast.store.databases import url_of
from holdfast.testing import ScratchDatabase, TestServer
from interfaces.calling import HOLDFAST, PATIENCE, TESTS

SERVES = re.compile(r" at (http://127\.0\.0\.1:\d+)")


def environment(**given: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HOLDFAST_", "PG")) and name not in {"DATABASE_URL", "PORT"}
    }
    return {**kept, "PYTHONPATH": str(TESTS.parent / "src"), "NO_COLOR": "1", **given}


def run(arguments: list[str], given: dict[str, str], code: int = 0) -> str:
    """Run a command to its end; gives what it printed."""
    done = subprocess.run(
        [*HOLDFAST, *arguments],
        cwd=APP_FOLDER,
        env=environment(**given),
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr
    return done.stdout.strip()


class Started:
    """A command that goes on until it is told to stop; what it says goes to a file."""

    def __init__(self, arguments: list[str], given: dict[str, str], said: Path) -> None:
        self._said = said
        with said.open("w") as output:
            self._process = subprocess.Popen(
                [*HOLDFAST, *arguments],
                cwd=APP_FOLDER,
                env=environment(PYTHONUNBUFFERED="1", **given),
                stdout=output,
                stderr=output,
            )

    @property
    def said(self) -> str:
        assert self._process.poll() is None, self._said.read_text()
        return self._said.read_text()

    def is_ready(self) -> bool:
        """Whether a server says that it is ready."""
        found = SERVES.search(self.said)
        return found is not None and httpx.get(f"{found[1]}/readyz", trust_env=False).json() == {"status": "ready"}

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()



def completed(url: str, job: str) -> bool:
    with psycopg.connect(url) as connection:
        found = connection.execute("select status from holdfast.job where id = %s", (job,)).fetchone()
    return found == ("COMPLETED",)


def test_the_lines_of_the_procfile_migrate_serve_and_work(holdfast_server: TestServer, tmp_path: Path) -> None:
    lines = {name: words[1:] for name, words in procfile().items()}
    with holdfast_server.database(migrated=False) as database:
        given = {"DATABASE_URL": database.owner_url, "HOLDFAST_APP": "shop:app", "PORT": "0"}

        run(lines["release"], given)
        run(["key", "create", "ops", "--scope", "admin"], given)
        job = run(["enqueue", "welcome", '{"name": "Ann"}', "-o", "id"], given)
        with (
            Started(lines["web"], given, tmp_path / "web") as web,
            Started(lines["worker"], given, tmp_path / "worker") as worker,
        ):
            until("it is ready", web.is_ready)
            until("the job is done", lambda: completed(database.owner_url, job))

            assert (web.stop(), worker.stop()) == (0, 0)


# -- with the logins of least privilege ----------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A database with the logins that deploy/logins.sql makes, and the folder with their addresses."""

    database: ScratchDatabase
    secrets: Path


@pytest.fixture
def place(holdfast_server: TestServer, tmp_path: Path) -> Iterator[Place]:
    """Do what PostgreSQL's image does with the compose file's scripts, in a database of this test's own."""
    # Logins belong to the whole server: this test's have names of their own.
    prefix = f"shop_{secrets.token_hex(4)}_"
    for name in ("logins.sql", "compose/make-secrets", "compose/initdb.sh"):
        (tmp_path / Path(name).name).write_text((DEPLOY / name).read_text().replace("shop_", prefix))
    folder = tmp_path / "secrets"
    subprocess.run(["sh", str(tmp_path / "make-secrets"), str(folder)], check=True)
    with holdfast_server.database(migrated=False) as database:
        admin = conninfo.conninfo_to_dict(database.owner_url)
        connecting = {"PGHOST": str(admin["host"]), "PGPORT": str(admin["port"])}
        subprocess.run(
            ["sh", str(tmp_path / "initdb.sh")],
            check=True,
            env=environment(
                PATH=f"{find_binaries().folder}:{os.environ['PATH']}",
                POSTGRES_USER=str(admin["user"]),
                POSTGRES_DB=str(admin["dbname"]),
                PGPASSWORD=str(admin.get("password", "")),
                SECRETS=str(folder),
                LOGINS=str(tmp_path / "logins.sql"),
                **connecting,
            ),
        )
        for path in folder.glob("*-url"):
            there = url_of(path.read_text().strip(), **{part: str(admin[part]) for part in ("host", "port", "dbname")})
            path.chmod(0o600)
            path.write_text(there)
        yield Place(database, folder)
        with psycopg.connect(database.owner_url, autocommit=True) as connection:
            for login in ("migrate", "worker", "server"):
                connection.execute(f"drop owned by {prefix}{login}; drop role {prefix}{login}".encode())


def as_in_compose(place: Place, service: str) -> dict[str, str]:
    """Give a service's variables, with this machine's paths."""
    told = ours(compose()["services"])[service]["environment"]
    here = {name: str(value).replace("/run/secrets", str(place.secrets)) for name, value in told.items()}
    return {**here, "HOLDFAST_PORT": "0"} if service == "server" else here


def as_in_unit(place: Place, name: str) -> dict[str, str]:
    """Give a unit's variables, with this machine's paths."""
    path = next(path for path in UNITS if name in path.name)
    told = {key: value.replace("%d", str(place.secrets)) for key, value in variables_of(path).items()}
    return {**told, "HOLDFAST_PORT": "0"} if name == "server" else told


def unit_command(name: str) -> list[str]:
    path = next(path for path in UNITS if name in path.name)
    (line,) = unit(path)["ExecStart"]
    return line.split()[1:]


def health_check() -> list[str]:
    found = re.search(r'^\s+CMD \["holdfast", (.*)\]$', dockerfile(), re.MULTILINE)
    assert found is not None
    return [word.strip(' "') for word in found[1].split(",")]


def test_services_and_units_run_with_the_least_that_they_need(place: Place, tmp_path: Path) -> None:
    commands = {name: service["command"] for name, service in ours(compose()["services"]).items()}
    worker, server = as_in_compose(place, "worker"), as_in_compose(place, "server")

    run(health_check(), worker, code=3)
    run(commands["server"], server, code=3)  # nobody has migrated yet
    run(commands["migrate"], as_in_compose(place, "migrate"))
    run(commands["server"], server, code=2)  # there is nobody who could come in
    run(["key", "create", "ops", "--scope", "admin"], server)
    for given in (worker, server):
        assert run(health_check(), given) == ""

    job = run(["enqueue", "welcome", '{"name": "Ann"}', "-o", "id"], server)
    with (
        Started(commands["server"], server, tmp_path / "server") as serving,
        Started(unit_command("server"), as_in_unit(place, "server"), tmp_path / "server-unit") as served_by_unit,
        Started(commands["worker"], worker, tmp_path / "worker") as working,
        Started(unit_command("worker"), as_in_unit(place, "worker"), tmp_path / "worker-unit") as working_in_unit,
    ):
        until("both are ready", lambda: serving.is_ready() and served_by_unit.is_ready())
        until("both work", lambda: all("worker:started" in each.said for each in (working, working_in_unit)))
        until("the job is done", lambda: completed(place.database.owner_url, job))

        codes = [each.stop() for each in (serving, served_by_unit, working, working_in_unit)]

    assert codes == [0, 0, 0, 0]
    for name in ("worker", "worker-unit", "server", "server-unit"):
        assert "permission denied" not in (tmp_path / name).read_text()


def test_the_schema_belongs_to_nobody_who_logs_in(place: Place) -> None:
    run(["db", "migrate"], as_in_compose(place, "migrate"))

    told = run(["db", "status", "-o", "json"], as_in_compose(place, "worker"))

    assert '"owner": "holdfast_owner"' in told
