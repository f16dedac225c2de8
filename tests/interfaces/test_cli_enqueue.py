from holdfast.testing import ScratchDatabase
from interfaces.calling import APP, Cli
from interfaces.shop_app import app as shop
from world.draining import drain


def register(database: ScratchDatabase) -> None:
    drain(database.use(shop))
    shop.close()


def test_without_an_app_a_registered_task_is_enqueued(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    register(holdfast_db)

    job_id = cli(
        "enqueue",
        "charge",
        '{"amount": 5}',
        "--tenant",
        "acme",
        "--priority",
        "7",
        "--tag",
        "a",
        "--tag",
        "b",
    ).stdout.strip()

    job = cli.json("job", "show", job_id)
    assert (job["payload"], job["tenant"], job["priority"], job["tags"], job["queue"]) == (
        {"amount": 5},
        "acme",
        7,
        ["a", "b"],
        "billing",
    )


def test_an_unregistered_task_is_exit_code_4(cli: Cli) -> None:
    assert "'charge' is not registered" in cli("enqueue", "charge", code=4).stderr
    assert "its tasks are: charge" in cli("-a", APP, "enqueue", "nope", code=4).stderr


def test_with_an_app_the_payload_is_checked_first(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    assert "amount" in cli("-a", APP, "enqueue", "charge", '{"amount": "much"}', code=2).stderr
    assert holdfast_db.jobs() == []


def test_bad_json_says_where(cli: Cli) -> None:
    assert "line 1 column 12" in cli("enqueue", "charge", '{"amount": }', code=2).stderr
    assert "expected a JSON object" in cli("enqueue", "charge", "[1]", code=2).stderr


def test_a_time_without_a_zone_is_refused(cli: Cli) -> None:
    assert "has no time zone" in cli("enqueue", "charge", "--at", "2030-01-01T10:00", code=2).stderr
    assert "is no duration" in cli("enqueue", "charge", "--in", "soon", code=2).stderr


def test_a_delay_holds_the_job_back(cli: Cli) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}', "--in", "2h")

    assert (
        "starts in 1 h 59 min" in cli("job", "show", job_id).stdout
        or "starts in 2 h" in cli("job", "show", job_id).stdout
    )


def test_a_key_gives_the_job_that_holds_it(cli: Cli) -> None:
    first = cli.enqueue("charge", '{"amount": 5}', "--key", "order-7")

    again = cli("-a", APP, "enqueue", "charge", '{"amount": 5}', "--key", "order-7")

    assert again.stdout.strip() == first
    assert "already holds the key" in again.stderr
    cli("-a", APP, "enqueue", "charge", '{"amount": 5}', "--key", "order-7", "--on-conflict", "raise", code=5)
