import psycopg

from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from interfaces.shop_app import app as shop
from sql.support import Machine
from world.draining import drain


def test_declared_but_empty_queues_are_listed(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    drain(holdfast_db.use(shop))
    shop.close()

    assert [(each["name"], each["waiting"], each["status"]) for each in cli.json("queue", "list")] == [
        ("billing", 0, "open"),
        ("default", 0, "open"),
        ("holdfast", 0, "open"),
    ]


def test_a_queue_that_only_jobs_name_is_listed_too(cli: Cli) -> None:
    cli.enqueue("refuse", "{}", "--queue", "elsewhere")

    found = {each["name"]: each for each in cli.json("queue", "list")}

    assert found["elsewhere"]["waiting"] == 1
    assert found["elsewhere"]["workers"] == 0
    assert found["elsewhere"]["oldest_wait"] >= 0


def test_counts_stop_at_ten_thousand(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    holdfast_db.use(shop)
    shop.enqueue_many([shop.tasks["slow"].job(1.0) for _ in range(10_050)])
    shop.close()

    assert "10,000+" in cli("queue", "list").stdout


def test_pause_and_resume(cli: Cli) -> None:
    cli.enqueue("charge", '{"amount": 5}')

    cli("queue", "pause", "billing", "--actor", "ana", "--reason", "bank is down", "--for", "1h")
    assert "paused by ana" in cli("queue", "list").stdout
    cli("queue", "resume", "billing")
    assert "was not paused" in cli("queue", "resume", "billing").stderr

    assert "paused" not in cli("queue", "list").stdout


def test_resuming_an_unknown_queue_is_exit_code_4(cli: Cli) -> None:
    cli("queue", "resume", "nonsense", code=4)


def test_stopped_workers_are_listed_as_stopped(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    drain(holdfast_db.use(shop))
    shop.close()

    (worker,) = cli.json("worker", "list")

    assert worker["state"] == "stopped"
    assert worker["queues"] == {"billing": 50, "default": 50, "holdfast": 5}
    assert "⊘ stopped" in cli("worker", "list").stdout


def test_no_worker_at_all_names_the_command(cli: Cli) -> None:
    assert "holdfast -a module:app worker" in cli("worker", "list").stderr


def test_a_worker_is_made_quiet_and_asked_to_stop_by_its_name_or_id(
    cli: Cli, owner: psycopg.Connection
) -> None:
    cli.enqueue("charge", '{"amount": 5}')
    worker = Machine(owner).worker("w7")

    cli("worker", "quiet", "w7", "--actor", "ana", "--reason", "deploy")
    listed = cli("worker", "list").stdout
    cli("worker", "resume", str(worker))
    resumed = cli.json("worker", "list")
    cli("worker", "stop", "w7", "--actor", "ana")

    assert "◌ draining" in listed
    assert "made quiet by ana" in listed
    assert [(each["state"], each["wish"]) for each in resumed] == [("live", None)]
    assert "cannot be taken back" in cli("worker", "resume", "w7", code=5).stderr
    cli("worker", "quiet", "nobody", code=4)
    done = owner.execute("select action, target, reason from holdfast.audit order by id").fetchall()
    assert done == [
        ("worker.quiet", "w7", "deploy"),
        ("worker.resume", "w7", None),
        ("worker.stop", "w7", None),
    ]
