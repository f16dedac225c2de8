import subprocess
import sys

import pytest
from click.testing import CliRunner

from holdfast.interfaces.cli import main
from holdfast.testing import ScratchDatabase
from interfaces.calling import APP, Cli


def test_help_imports_neither_the_driver_nor_pydantic() -> None:
    code = (
        "import sys\n"
        "from holdfast.interfaces.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('psycopg', 'pydantic', 'asyncio') if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "doctor" in done.stdout
    assert done.stderr.strip() == "[]"


def test_every_public_name_can_still_be_imported() -> None:
    import holdfast

    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)
    assert set(holdfast._HOMES) == set(holdfast.__all__)
    with pytest.raises(AttributeError, match="NoSuchName"):
        holdfast.NoSuchName  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "command",
    [
        "config",
        "db",
        "db migrate",
        "db sql",
        "demo",
        "dev",
        "doctor",
        "enqueue",
        "job",
        "job show",
        "job wait",
        "queue pause",
        "server",
        "up",
        "worker",
        "worker list",
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    assert "Usage:" in CliRunner().invoke(main, [*command.split(), "--help"]).stdout


def test_an_unreachable_database_is_exit_code_69(cli: Cli) -> None:
    result = cli("--database-url", "postgresql://nobody@127.0.0.1:1/none", "job", "list", code=69)

    assert result.stderr.startswith("error: the database cannot be reached")
    assert "Traceback" not in result.output


def test_no_database_at_all_names_the_fixes(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from click.testing import CliRunner

    from holdfast.interfaces.cli import main

    gone = ("HOLDFAST_DATABASE_URL", "DATABASE_URL", "PGHOST", "PGSERVICE", "PGDATABASE", "HOLDFAST_APP")
    result = CliRunner(env=dict.fromkeys(gone)).invoke(main, ["job", "list"])

    assert result.exit_code == 2
    assert "HOLDFAST_DATABASE_URL" in result.stderr


def test_usage_errors_are_exit_code_2(cli: Cli) -> None:
    cli("job", "list", "--status", "NONSENSE", code=2)
    cli("job", "show", "xyz", code=2)
    cli("nonsense", code=2)


def test_global_options_may_stand_behind_the_command(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    assert cli("job", "list", "-o", "json").stdout == cli("-o", "json", "job", "list").stdout == "[]\n"


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("no_such_module:app", "there is no module 'no_such_module'"),
        ("interfaces.shop_app:ap", "has no attribute 'ap'; its apps are: interfaces.shop_app:app"),
        ("interfaces.shop_app:not_an_app", "is a str, not a Holdfast app"),
        ("interfaces.shop_app", "names no attribute"),
        (":app", "names no module"),
    ],
)
def test_an_app_that_is_not_there_is_explained(cli: Cli, app: str, told: str) -> None:
    assert told in cli("-a", app, "worker", code=2).stderr


def test_a_worker_without_an_app_says_how_to_name_it(cli: Cli) -> None:
    assert "-a module:attribute" in cli("worker", code=2).stderr


def test_version_names_the_package(cli: Cli) -> None:
    assert cli("version").stdout.startswith("holdfast ")
    assert cli.json("version")["name"] == "holdfast"


def test_dev_without_an_app_points_at_the_demo(cli: Cli) -> None:
    assert "holdfast demo" in cli("dev", code=2).stderr


def test_no_password_is_shown_by_config(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    from psycopg.conninfo import conninfo_to_dict

    password = str(conninfo_to_dict(holdfast_db.url)["password"])

    shown = cli("config", "-a", APP).stdout

    assert password not in shown
    assert "--database-url" in shown
