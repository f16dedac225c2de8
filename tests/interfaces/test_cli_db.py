import subprocess
import sys

from holdfast.store.migrate import steps
from holdfast.testing import TestServer
from interfaces.calling import Cli


def unmigrated(cli: Cli, url: str, *arguments: str, code: int = 0) -> str:
    return cli("--database-url", url, *arguments, code=code).output


def test_check_is_exit_code_3_until_the_schema_is_there(cli: Cli, holdfast_server: TestServer) -> None:
    with holdfast_server.database(migrated=False) as database:
        assert "holdfast db migrate" in unmigrated(cli, database.owner_url, "db", "check", code=3)
        assert "holdfast db migrate" in unmigrated(cli, database.owner_url, "job", "list", code=3)
        assert "holdfast db migrate" in unmigrated(
            cli, database.owner_url, "-a", "interfaces.shop_app:app", "worker", code=3
        )

        assert "applied 0001_jobs" in unmigrated(cli, database.owner_url, "db", "migrate")
        assert "nothing to do" in unmigrated(cli, database.owner_url, "db", "migrate")

        assert "current" in unmigrated(cli, database.owner_url, "db", "check")
        assert unmigrated(cli, database.owner_url, "-q", "db", "check") == ""


def test_a_newer_schema_is_refused(cli: Cli) -> None:
    import psycopg

    with psycopg.connect(cli.database.owner_url, autocommit=True) as connection:
        connection.execute("insert into holdfast.installed (what, checksum) values ('9999_future', 'x')")

    assert "upgrade Holdfast" in cli("db", "check", code=3).output
    assert "upgrade Holdfast" in cli("--database-url", cli.database.owner_url, "db", "migrate", code=3).stderr
    assert "upgrade Holdfast" in cli("doctor", code=3).output


def test_what_runs_already_may_go_on_with_a_newer_schema_and_not_with_an_older_one(cli: Cli) -> None:
    import psycopg

    asked = ("db", "check", "--newer-is-fine", "--quiet")
    with psycopg.connect(cli.database.owner_url, autocommit=True) as connection:
        connection.execute("insert into holdfast.installed (what, checksum) values ('9999_future', 'x')")
        assert cli(*asked).output == ""

        connection.execute("delete from holdfast.installed where what in ('9999_future', '0001_jobs')")
        assert "behind by 0001_jobs" in cli(*asked, code=3).output


def test_status_tells_what_is_installed(cli: Cli) -> None:
    told = cli.json("db", "status")

    assert told["current"] is True
    assert told["installed"] == [step.name for step in steps()]
    assert told["roles"] is True


def test_sql_is_only_sql_the_same_every_time_and_without_a_database(
    cli: Cli, holdfast_server: TestServer
) -> None:
    command = [sys.executable, "-m", "holdfast.interfaces.cli", "db", "sql"]
    first, second = (
        subprocess.run(command, capture_output=True, check=True, env={}).stdout for _ in range(2)
    )

    assert first == second
    assert first.startswith(b"-- 0001_jobs\nbegin;")


def test_the_script_installs_what_migrate_installs(cli: Cli, holdfast_server: TestServer) -> None:
    import psycopg

    script = cli("db", "sql").stdout
    with holdfast_server.database(migrated=False) as database:
        with psycopg.connect(database.owner_url, autocommit=True) as connection:
            connection.execute(script)

        assert "current" in unmigrated(cli, database.owner_url, "db", "check")
        assert unmigrated(cli, database.owner_url, "db", "sql", "--pending") == ""
