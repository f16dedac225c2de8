from typing import Any

import psycopg
from click.testing import CliRunner

from holdfast.interfaces.cli import main
from interfaces.calling import Cli

PASSWORD = "a kettle over quiet marshes"


def with_input(cli: Cli, text: str, *arguments: str, code: int = 0) -> str:
    result = CliRunner(env={"NO_COLOR": "1"}).invoke(
        main, ["--database-url", cli.database.url, *arguments], input=text
    )
    assert result.exit_code == code, result.output
    return result.output


def test_a_key_is_created_replaced_revoked_and_listed(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    made = cli("key", "create", "ci", "--scope", "enqueue", "--scope", "read", "--tenant", "acme")
    old_id = made.stdout.split("_")[1]
    new = cli.json("key", "rotate", old_id, "--overlap", "1h")
    cli("key", "rotate", old_id, code=5)
    listed = cli.json("key", "list")
    said = cli("key", "revoke", new["id"], "--reason", "leaked", "--actor", "ann").stdout
    again = cli("key", "revoke", new["id"]).stdout
    table = cli("key", "list", "--all").stdout

    assert made.stdout.startswith("hfk_")
    assert "cannot be shown again" in made.stderr
    assert [(key["id"], key["status"], key["tenant"]) for key in listed] == [
        (new["id"], "active", "acme"),
        (old_id, "active", "acme"),
    ]
    assert (said, again) == (
        f"key {new['id']} is revoked\n",
        f"key {new['id']} counted no more already\n",
    )
    assert "revoked" in table
    secrets = [made.stdout.strip().split("_")[2], new["key"].split("_")[2]]
    assert not [secret for secret in secrets if secret in table or secret in str(listed)]
    audit = owner.execute("select action, actor, reason from holdfast.audit order by id").fetchall()
    assert [row[0] for row in audit] == ["key.create", "key.rotate", "key.revoke", "key.revoke"]
    assert ("key.revoke", "ann", "leaked") in audit


ONE_END = ["--expires", "2040-01-01T00:00Z", "--expires-in", "1d"]


def test_what_cannot_be_done_says_so_by_its_exit_code(cli: Cli) -> None:
    for arguments, code in [
        (["key", "create", "ci"], 2),
        (["key", "create", "ci", "--scope", "everything"], 2),
        (["key", "create", "ci", "--scope", "read", *ONE_END], 2),
        (["key", "rotate", "nothing"], 4),
        (["key", "revoke", "nothing"], 4),
        (["user", "role", "nobody", "admin"], 4),
        (["user", "role", "nobody", "king"], 2),
        (["user", "disable", "nobody"], 4),
        (["user", "add", "ann", "--password", PASSWORD], 2),
        (["user", "add", "ann"], 2),
    ]:
        cli(*arguments, code=code)


def test_people_are_added_listed_changed_and_disabled(cli: Cli) -> None:
    given = PASSWORD + "\n"
    said = with_input(cli, given, "user", "add", "Ann@shop.test", "--role", "operator", "--password-stdin")
    with_input(cli, given, "user", "add", "ann@shop.test", "--password-stdin", code=5)
    with_input(cli, "short\n", "user", "add", "bea", "--password-stdin", code=2)
    cli("user", "role", "ann@shop.test", "admin", "--tenant", "acme")
    with_input(cli, given, "user", "password", "ann@shop.test", "--password-stdin")
    cli("user", "disable", "ann@shop.test", "--reason", "left")
    (ann,) = cli.json("user", "list")
    table = cli("user", "list").stdout
    cli("user", "enable", "ann@shop.test")

    assert said == "ann@shop.test is operator now\n"
    assert (ann["role"], ann["tenant"], ann["disabled_at"] is None) == ("admin", "acme", False)
    assert "disabled" in table
    assert "argon2" not in table + str(ann)


def test_lists_of_nobody_say_how_to_begin(cli: Cli) -> None:
    assert "holdfast key create" in cli("key", "list").stderr
    assert "holdfast user add" in cli("user", "list").stderr


def test_doctor_refuses_a_default_master_key(cli: Cli) -> None:
    told = cli("doctor", code=3, HOLDFAST_SECRET_KEY="your-secret-key-here-your-secret-key").stdout

    assert "HOLDFAST_SECRET_KEY is too weak" in told
    assert "your-secret" not in told
