from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from interfaces.shop_app import app as shop
from world.draining import drain


def test_a_task_is_paused_and_resumed(cli: Cli) -> None:
    job = cli.enqueue("charge", '{"amount": 5}')

    said = cli("task", "pause", "charge", "--actor", "ana", "--reason", "bank is down", "--for", "1h").stdout
    assert "holdfast task resume charge" in said
    assert "paused by ana" in cli("task", "list").stdout
    drain(cli.database.use(shop))
    shop.close()
    shown = cli("job", "show", job).stdout
    assert "task charge paused by ana" in shown
    assert "bank is down, resumes in" in shown

    assert "is open" in cli("task", "resume", "charge").stdout
    assert "was not paused" in cli("task", "resume", "charge").stderr
    assert {each["name"]: each["status"] for each in cli.json("task", "list")}["charge"] == "open"
    drain(cli.database.use(shop))
    shop.close()
    assert cli.json("job", "show", job)["status"] == "COMPLETED"


def test_an_unknown_task_is_exit_code_4(cli: Cli) -> None:
    cli("task", "pause", "nonsense", code=4)
    cli("task", "resume", "nonsense", code=4)


def test_a_queue_is_limited_and_its_limit_taken_away(cli: Cli) -> None:
    assert "at most 3 at once" in cli("queue", "limit", "billing", "3").stdout
    assert {each["name"]: each["limit"] for each in cli.json("queue", "list")}["billing"] == 3

    assert "no limit" in cli("queue", "limit", "billing", "none").stdout
    assert {each["name"]: each["limit"] for each in cli.json("queue", "list")}["billing"] is None


def test_a_limit_that_is_none_of_both_is_a_usage_error(cli: Cli) -> None:
    for wrong in ("0", "many"):
        assert "queue pause" in cli("queue", "limit", "billing", wrong, code=2).stderr
    cli("queue", "limit", "billing", "100001", code=2)


def test_a_flag_is_listed_and_switched(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    assert "no flag was set yet" in cli("flag", "list").stderr

    assert (
        "no registered task" in cli("flag", "set", "NEW", "25%", "--actor", "ana", "--reason", "try").stderr
    )
    (flag,) = cli.json("flag", "list")
    assert (flag["status"], flag["percent"], flag["set_by"]) == ("on for 25 %", 25, "ana")

    cli("flag", "set", "NEW", "off")
    (flag,) = cli.json("flag", "list")
    assert (flag["status"], flag["percent"]) == ("off", 25)
    cli("flag", "set", "NEW", "on")
    assert "on" in cli("flag", "list").stdout
    (flag,) = cli.json("flag", "list")
    assert (flag["status"], flag["percent"]) == ("on", 100)


def test_a_flag_set_to_nonsense_is_a_usage_error(cli: Cli) -> None:
    for wrong in ("101", "maybe", "-1"):
        cli("flag", "set", "NEW", "--", wrong, code=2)
