"""What the deployment files start, started: against real databases, with the logins they make."""

import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import httpx
import psycopg
import pytest
from psycopg import conninfo

from deploying.files import APP_FOLDER, DEPLOY, UNITS, compose, dockerfile, ours, procfile, unit, variables_of
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.embedded.binaries import find_binaries
from holdfast.server import Scope, create_key
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
        return found is not None and httpx.get(f"{found[1]}/readyz", trust_env=False).json() == {
            "status": "ready"
        }

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def let_somebody_in(url: str) -> None:
    """Make a key, as `holdfast key create` does."""
    app = Holdfast(database_url=url)
    create_key(app, "ops", scopes=[Scope.ADMIN])
    app.close()


def works(worker: Started, url: str) -> None:
    """See a worker complete a job."""
    until("it has said which tasks there are", lambda: "worker:started" in worker.said)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""select holdfast.enqueue('welcome', '{"name": "Ann"}')""")
        until(
            "the job is done",
            lambda: connection.execute("select from holdfast.job where status = 'COMPLETED'").rowcount == 1,
        )


def test_the_lines_of_the_procfile_migrate_serve_and_work(
    holdfast_server: TestServer, tmp_path: Path
) -> None:
    lines = {name: words[1:] for name, words in procfile().items()}
    with holdfast_server.database(migrated=False) as database:
        given = {"DATABASE_URL": database.owner_url, "HOLDFAST_APP": "shop:app", "PORT": "0"}

        run(lines["release"], given)
        let_somebody_in(database.owner_url)
        with (
            Started(lines["web"], given, tmp_path / "web") as web,
            Started(lines["worker"], given, tmp_path / "worker") as worker,
        ):
            until("it is ready", web.is_ready)
            works(worker, database.owner_url)

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
            there = url_of(
                path.read_text().strip(), **{part: str(admin[part]) for part in ("host", "port", "dbname")}
            )
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


def test_units_run_with_the_least_that_they_need_after_the_compose_file_has_migrated(
    place: Place, tmp_path: Path
) -> None:
    commands = {name: service["command"] for name, service in ours(compose()["services"]).items()}
    worker, server = as_in_compose(place, "worker"), as_in_compose(place, "server")

    run(commands["server"], server, code=3)  # nobody has migrated yet
    run(health_check(), worker, code=3)
    run(commands["migrate"], as_in_compose(place, "migrate"))
    run(commands["server"], server, code=2)  # there is nobody who could come in
    assert run(health_check(), worker) == ""
    let_somebody_in((place.secrets / "server-url").read_text())
    with (
        Started(unit_command("server"), as_in_unit(place, "server"), tmp_path / "server") as serving,
        Started(unit_command("worker"), as_in_unit(place, "worker"), tmp_path / "worker") as working,
    ):
        until("it is ready", serving.is_ready)
        works(working, place.database.owner_url)
        until("it holds what it keeps", lambda: connections(place) == AT_REST)

        codes = serving.stop(), working.stop()

    assert codes == (0, 0)
    assert unit_command("worker") == commands["worker"]
    for said in (tmp_path / "worker", tmp_path / "server"):
        assert "permission denied" not in said.read_text()
    assert owner_of_schema(place) == "holdfast_owner"


# What docs/operations/deploy.md counts, but for the heartbeat's, which comes with the first beat; upkeep's comes and goes.
AT_REST = {f"holdfast {what}" for what in ("claim", "finish", "sweep", "project", "listen")}


def connections(place: Place) -> set[str]:
    """Name the connections of the worker's login, but for those that come and go."""
    with psycopg.connect(place.database.owner_url) as connection:
        found = connection.execute(
            "select application_name from pg_stat_activity where datname = current_database() and usename = %s",
            (user_of(place.secrets / "worker-url"),),
        ).fetchall()
    return {name for (name,) in found} - {"holdfast heartbeat", "holdfast upkeep"}


def user_of(path: Path) -> str:
    return str(conninfo.conninfo_to_dict(path.read_text())["user"])


def owner_of_schema(place: Place) -> str:
    with psycopg.connect(place.database.owner_url) as connection:
        found = connection.execute(
            "select nspowner::regrole::text from pg_namespace where nspname = 'holdfast'"
        ).fetchone()
    assert found is not None
    return str(found[0])
