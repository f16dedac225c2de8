import shlex
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg

from holdfast import Holdfast
from holdfast.interfaces.cli.workers import read_queues
from holdfast.server import Verdict, examine
from holdfast.store.call import perform_sync
from holdfast.store.claim import claim, register_worker
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
from interfaces.shop_app import app as shop
from world.draining import drain


def join(
    connection: psycopg.Connection[Any],
    *,
    tasks: list[str] | None = None,
    queues: list[str] | None = None,
    skew: float = 0.0,
) -> Any:
    worker = uuid4()
    perform_sync(
        connection,
        register_worker(
            worker,
            "worker-1-ab",
            "host",
            1,
            "0",
            dict.fromkeys(queues or ["billing", "default"], 5),
            tasks or sorted(shop.tasks),
            timedelta(seconds=30),
            datetime.now(UTC) + timedelta(seconds=skew),
        ),
    )
    return worker


def checks(cli: Cli, code: int, name: str) -> list[dict[str, str]]:
    told = cli.json("doctor", code=code)
    assert told["healthy"] is (code == 0)
    return [each for each in told["checks"] if each["name"] == name]


def test_a_healthy_system_is_exit_code_0_and_silent_when_asked(
    cli: Cli, owner: psycopg.Connection[Any]
) -> None:
    join(owner)

    assert all(each["verdict"] == "ok" for each in cli.json("doctor")["checks"])
    assert "✓ ok" in cli("doctor").stdout
    assert cli("doctor", "-q").output == ""


def test_no_worker_is_a_failure_once_jobs_wait(cli: Cli) -> None:
    (idle,) = checks(cli, 0, "workers")
    cli.enqueue("charge", '{"amount": 5}')

    (stuck,) = checks(cli, 3, "workers")

    assert idle["verdict"] == "warn"
    assert stuck["found"] == "no live worker, and 1 job in line"
    assert "holdfast -a module:app worker" in stuck["advice"]


def test_a_queue_that_nobody_serves_is_named(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    join(owner, queues=["default"])
    cli.enqueue("charge", '{"amount": 5}')

    (stuck,) = checks(cli, 3, "queues")

    assert stuck["found"] == "nobody processes queue billing: 1 job in line, no live worker serves it"
    assert "nobody processes queue billing" in cli("doctor", "-q", code=3).stdout


def test_tasks_that_nobody_registers_are_named(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    join(owner, tasks=["refuse"])
    cli.enqueue("charge", '{"amount": 5}')

    (missing,) = checks(cli, 3, "tasks")

    assert "charge (1 in queue billing)" in missing["found"]


def test_what_to_type_is_what_a_shell_takes(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    join(owner)
    name = "-a; b's, 50%"
    cli.enqueue("charge", '{"amount": 5}', "--queue", name)

    (stuck,) = checks(cli, 3, "queues")
    cli("queue", "pause", "--", name)
    (paused,) = checks(cli, 0, "paused queues")

    *_, line = shlex.split(stuck["advice"])
    assert read_queues(line, 50) == {name: 50}
    asked = shlex.split(paused["advice"].partition("holdfast ")[2])
    assert shlex.join(asked[:-1]) in cli("queue", "pause", "--", name).stdout
    cli(*asked)
    assert [each["status"] for each in cli.json("queue", "list") if each["name"] == name] == ["open"]


def test_a_paused_queue_with_jobs_is_a_warning(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    join(owner)
    cli.enqueue("charge", '{"amount": 5}')
    cli("queue", "pause", "billing", "--actor", "ana")

    (paused,) = checks(cli, 0, "paused queues")

    assert paused["verdict"] == "warn"
    assert "paused by ana" in paused["found"]
    assert paused["advice"] == "open it: holdfast queue resume billing"


def test_a_dead_worker_that_holds_jobs_is_a_failure(
    cli: Cli, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    worker = join(owner)
    cli.enqueue("charge", '{"amount": 5}')
    perform_sync(owner, claim(worker, uuid4(), "billing", ["charge"], 1, None))
    holdfast_db.clock.advance(60)

    (dead,) = checks(cli, 3, "dead workers")

    assert dead["found"].startswith("dead and still holding jobs: worker-1-ab (1 job, seen 1 min")


def test_everything_failing_is_a_failure_with_the_commonest_error(
    cli: Cli, holdfast_db: ScratchDatabase
) -> None:
    cli.enqueue("refuse")
    cli.enqueue("refuse")
    drain(holdfast_db.use(shop))
    shop.close()

    (failing,) = checks(cli, 3, "failures")

    assert failing["found"] == "all 2 jobs that ended in the last hour FAILED, mostly with Fail"


def test_one_success_among_failures_is_no_alarm(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    cli.enqueue("refuse")
    cli.enqueue("charge", '{"amount": 5}')
    drain(holdfast_db.use(shop))
    shop.close()

    assert checks(cli, 0, "failures")[0]["verdict"] == "ok"


def test_a_long_wait_is_a_warning(
    cli: Cli, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    cli.enqueue("charge", '{"amount": 5}')
    holdfast_db.clock.advance(timedelta(minutes=20))
    join(owner)

    (oldest,) = checks(cli, 0, "oldest wait")

    assert oldest["verdict"] == "warn"
    assert oldest["found"] == "20 min in queue billing"


def test_a_workers_clock_that_is_off_is_a_warning(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    join(owner, skew=-90)

    (clocks,) = checks(cli, 0, "clocks of workers")

    assert clocks["verdict"] == "warn"
    assert "1 min 30 s behind the database" in clocks["found"]


def test_a_superuser_login_is_a_warning_or_a_failure_as_asked(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    as_owner = ("--database-url", holdfast_db.owner_url)

    assert "is a superuser" in cli("doctor", *as_owner).stdout
    assert "is a superuser" in cli("doctor", *as_owner, code=3, HOLDFAST_REQUIRE_ROLES="1").stdout
    cli("doctor", HOLDFAST_REQUIRE_ROLES="1")


def test_an_open_transaction_is_reported(
    cli: Cli, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    join(owner)
    with psycopg.connect(holdfast_db.url) as held:
        held.execute("select 1")
        holdfast_db.clock.advance(timedelta(hours=1))

        (oldest,) = checks(cli, 0, "oldest transaction")

    assert oldest["verdict"] == "warn"
    assert "open for 1 h 00 min" in oldest["found"]


def test_rows_in_the_rest_partition_are_reported(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    cli.enqueue("refuse")
    owner.execute(
        "insert into holdfast.job (id, task) values ('00e2a5a0-0000-7000-8000-000000000000', 'refuse')"
    )

    assert checks(cli, 3, "history partitions")[0]["found"] == "rows have landed in job_history_rest"


def test_an_executor_that_no_worker_calls_is_reported(
    cli: Cli, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    assert checks(cli, 0, "executors")[0]["verdict"] == "ok"
    owner.execute(
        "insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, created_at, next_try_at, heartbeat_limit, run_limit, retry_in)"
        " values (holdfast.new_id(), 1, gen_random_uuid(), 'ci', '{}', holdfast.clock(), holdfast.clock(), '1 minute', '1 minute', '0')"
    )
    holdfast_db.clock.advance(timedelta(minutes=3))

    (called,) = checks(cli, 3, "executors")

    assert called["verdict"] == "fail"
    assert "1 call to ci" in called["found"]


def test_an_unreachable_database_is_a_failed_check(cli: Cli) -> None:
    told = cli("doctor", "--database-url", "postgresql://nobody@127.0.0.1:1/none", code=3).stdout

    assert "✗ fail  database" in told


def test_a_login_without_rights_is_told_what_it_lacks(
    cli: Cli, owner: psycopg.Connection[Any], holdfast_db: ScratchDatabase
) -> None:
    from holdfast.store import databases

    name = "holdfast_test_stranger"
    owner.execute(f"create role {name} login password 'x'")
    try:
        url = databases.url_of(holdfast_db.owner_url, user=name, password="x")
        told = cli("doctor", "--database-url", url, code=3).stdout
        assert "grant the login a Holdfast role" in told
    finally:
        owner.execute(f"drop role {name}")


def test_a_program_asks_what_doctor_asks(holdfast_db: ScratchDatabase, cli: Cli) -> None:
    told = cli.json("doctor")["checks"]

    found = examine(holdfast_db.use(Holdfast()))

    assert [(check.name, check.verdict) for check in found] == [(one["name"], one["verdict"]) for one in told]


def test_a_database_that_is_away_is_the_last_check_of_a_program() -> None:
    away = Holdfast("postgresql://nobody@127.0.0.1:1/nowhere")

    found = examine(away)

    assert (found[-1].name, found[-1].verdict) == ("database", Verdict.FAIL)
    assert found[-1].advice is not None
