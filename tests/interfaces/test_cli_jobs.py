import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.domain.search import parse
from holdfast.store.search import find_jobs
from holdfast.testing import ScratchDatabase, TestServer
from interfaces.calling import APP, Cli
from interfaces.shop_app import app as shop
from sql.support import Machine, machine_on
from sql.test_project import project_all
from world.draining import drain


def run(database: ScratchDatabase) -> None:
    drain(database.use(shop))
    shop.close()


def test_show_tells_the_story_of_a_retrying_job(
    cli: Cli, holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    job_id = cli.enqueue(
        "charge", '{"amount": 500}', "--subject", "order-7", "--actor", "ana", "--label", "invoice 42"
    )
    run(holdfast_db)

    told = cli("job", "show", job_id).stdout

    assert "will retry in" in told
    assert "attempt 2 of 5, after TimeoutError" in told
    assert "invoice 42" in told
    assert "by ana" in told
    assert "TimeoutError: the bank did not answer (timeout, recoverable)" in told
    assert "INFO shop charging 500" in told
    assert "Traceback" not in told
    assert "Traceback" in cli("job", "show", job_id, "-v").stdout


def test_show_as_json_has_history_and_attempts(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    job_id = cli.enqueue("refuse", '{"why": "the card is gone"}')
    run(holdfast_db)

    told = cli.json("job", "show", job_id)

    assert [each["to_status"] for each in told["history"]] == ["PENDING", "RUNNING", "FAILED"]
    assert told["attempts"][0]["error"]["message"] == "the card is gone"
    assert told["sentence"].startswith("FAILED")


def test_what_a_job_says_cannot_steer_the_terminal(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    job_id = cli.enqueue("refuse", json.dumps({"why": "\x1b[2J\nforged"}), "--label", "a\x1b]0;b")
    run(holdfast_db)

    told = cli("job", "show", job_id).stdout + cli("job", "list").stdout

    assert "\x1b" not in told
    assert "\\x1b[2J\\nforged" in told


def test_tail_writes_what_a_job_logged_and_ends_as_it_did(
    cli: Cli, holdfast_db: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    good, bad = cli.enqueue("charge", '{"amount": 5}'), cli.enqueue("refuse", '{"why": "no money"}')
    run(holdfast_db)

    told = cli("job", "tail", good)
    cli("job", "tail", bad, code=10)
    (line,) = cli("job", "tail", good, "-o", "jsonl").stdout.splitlines()

    assert told.stdout.endswith("INFO shop charging 5\n")
    assert told.stderr.startswith("COMPLETED")
    assert (json.loads(line)["attempt"], json.loads(line)["message"]) == (1, "charging 5")


def test_tail_writes_each_line_of_a_running_job_once_until_it_ends(
    cli: Cli, holdfast_db: ScratchDatabase
) -> None:
    with machine_on(holdfast_db.owner_url) as machine, ThreadPoolExecutor(1) as beside:
        machine.register("t")
        worker, job = machine.worker(), machine.enqueue()
        (claimed,) = machine.claim(worker)
        machine.log(worker, job, 0, "one")

        def go_on() -> None:
            machine.log(worker, job, 1, "\x1b[2J")
            every = '[{"message": "one"}, {"message": "\\u001b[2J"}, {"message": "three"}]'
            machine.complete(worker, claimed, logs=every)

        so_far = cli("job", "tail", str(job), "--no-follow").stdout
        gone_on = beside.submit(go_on)
        told = cli("job", "tail", str(job)).stdout
        gone_on.result()

    assert so_far == "1  INFO shop one\n"
    assert [line.split()[-1] for line in told.splitlines()] == ["one", "\\x1b[2J", "three"]


def test_an_unknown_id_is_exit_code_4(cli: Cli) -> None:
    for command in ("show", "tail", "wait", "retry", "cancel"):
        assert "no job" in cli("job", command, str(uuid4()), code=4).stderr
    cli("job", "show", "01a1e1", code=4)


def test_the_beginning_of_an_id_is_enough_where_it_is_unique(cli: Cli) -> None:
    job_id = cli.enqueue("refuse")

    assert cli.json("job", "show", job_id[:8])["id"] == job_id
    assert cli.json("job", "show", job_id[:8].upper())["id"] == job_id


def test_an_ambiguous_beginning_lists_the_candidates(cli: Cli) -> None:
    ids = [cli.enqueue("refuse") for _ in range(2)]

    told = cli("job", "show", ids[0][:6], code=2).stderr

    assert all(job_id in told for job_id in ids)


def test_list_filters_and_pages(cli: Cli) -> None:
    ids = [cli.enqueue("charge", '{"amount": 1}', "--tenant", "acme", "--tag", "vip") for _ in range(3)]
    other = cli.enqueue("refuse", "{}", "--tenant", "other")

    def listed(*options: str) -> list[str]:
        return cli("job", "list", "-o", "id", *options).stdout.split()

    assert listed() == [other, *reversed(ids)]
    assert listed("--tenant", "acme") == listed("--tag", "vip") == listed("--task", "charge") == ids[::-1]
    assert listed("--queue", "billing", "--status", "pending") == ids[::-1]
    assert listed("--limit", "2", "--before", ids[1]) == [ids[0]]
    assert listed("--since", "1h") == listed()
    assert listed("--until", "1h") == []
    assert f"--before {ids[-1]}" in cli("job", "list", "--limit", "2").stderr
    assert [
        json.loads(line)["id"] for line in cli("job", "list", "-o", "jsonl").stdout.splitlines()
    ] == listed()


def test_wait_answers_how_a_job_ended(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    good = cli.enqueue("charge", '{"amount": 5}')
    bad = cli.enqueue("refuse", '{"why": "no money"}')
    gone = cli.enqueue("charge", '{"amount": 7}')
    cli("job", "cancel", gone)
    run(holdfast_db)

    assert '{"charged": 5}' in cli("job", "wait", good).stdout
    assert "no money" in cli("job", "wait", bad, code=10).stdout
    cli("job", "wait", gone, code=11)


def test_wait_that_takes_too_long_is_exit_code_12(cli: Cli) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')

    assert "it goes on" in cli("job", "wait", job_id, "--timeout", "50ms", code=12).stderr


def test_cancel_says_who_and_why(cli: Cli) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')

    cli("job", "cancel", job_id, "--actor", "ana", "--reason", "wrong order")

    assert cli.json("job", "show", job_id)["sentence"].startswith("CANCELLED by ana")
    assert cli.json("job", "show", job_id)["history"][-1]["reason"] == "wrong order"


def test_cancelling_what_has_ended_is_a_conflict(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')
    run(holdfast_db)

    assert "cannot be cancelled" in cli("job", "cancel", job_id, code=5).stderr


def test_retry_makes_a_new_job_that_names_the_old(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    old = cli.enqueue("refuse")
    run(holdfast_db)

    new = cli("job", "retry", old, "--actor", "ana", "-o", "id").stdout.strip()

    assert cli.json("job", "show", new)["retry_of"] == old
    assert cli.json("job", "show", new)["history"][0]["actor"] == "ana"
    assert f"retried as {new}" in cli("job", "show", old).stdout
    cli("job", "retry", old, code=5)
    cli("job", "retry", new, code=5)  # it has not FAILED


def test_list_of_a_paused_queue_says_who_paused_it(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')
    cli("queue", "pause", "billing", "--actor", "ana", "--reason", "bank is down")
    holdfast_db.clock.advance(timedelta(minutes=10))

    assert "queue billing paused by ana 10 min ago: bank is down" in cli("job", "show", job_id).stdout


@pytest.fixture(scope="module")
def among_many(holdfast_server: TestServer) -> Iterator[psycopg.Connection]:
    """Give a connection to a database in which one job has what is asked for and thousands have not."""
    with holdfast_server.database() as database:
        database.use(shop)
        shop.enqueue_many([shop.tasks["slow"].job(float(n)) for n in range(5000)])
        shop.tasks["refuse"].using(tenant="acme", subject="order", tags=["vip"]).enqueue()
        shop.close()
        with psycopg.connect(database.owner_url, autocommit=True) as connection:
            connection.execute("vacuum analyze holdfast.job")
            yield connection


@pytest.mark.parametrize(
    ("search", "index"),
    [
        ("status:failed", "job_by_status"),
        ("task:refuse", "job_by_task"),
        ("tenant:acme", "job_by_tenant"),
        ("subject:order", "job_by_subject"),
        ("tag:vip", "job_by_tag"),
    ],
)
def test_lists_use_the_index_of_their_column(among_many: psycopg.Connection, search: str, index: str) -> None:
    call = find_jobs(parse(search), 20)

    plan = among_many.execute("explain " + call.sql, call.parameters).fetchall()

    text = "\n".join(row[0] for row in plan)
    assert index in text, text
    assert "Seq Scan on job " not in text, text


def test_a_list_takes_a_search(cli: Cli) -> None:
    vip = cli.enqueue("charge", '{"amount": 42}', "--tag", "vip", "--label", "invoice 2030-17")
    cli.enqueue("refuse")

    for search in ("task:ch*", "status:pending tag:vip", "payload.amount:42 age:<1h", "2030-17"):
        assert cli("job", "list", "-q", search, "-o", "id").stdout.split() == [vip], search
    assert "looked at jobs since" in cli("job", "list", "-q", "label:none").stderr
    told = cli("job", "list", "-q", "task:charge stats:failed", code=2).stderr
    assert "task:charge stats:failed\n            ^ there is no field stats: did you mean status:?" in told


def test_json_lists_carry_no_clock_of_their_own(cli: Cli) -> None:
    cli.enqueue("refuse")

    (told,) = cli.json("-a", APP, "job", "list")

    assert "now" not in told
    assert told["status"] == "PENDING"


def test_all_that_match_are_retried_after_a_look(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    failed = [cli.enqueue("refuse", '{"why": "the bank is away"}') for _ in range(3)]
    other = cli.enqueue("refuse", '{"why": "no"}')
    run(holdfast_db)
    matching = ("job", "retry", "--all-matching", "-q", "task:refuse error:bank")

    dry = cli(*matching, "--dry-run").stdout
    made = cli(*matching, "--reason", "it is back", "--actor", "ana").stdout
    run(holdfast_db)

    assert "3 jobs would be retried" in dry
    assert [job_id in dry for job_id in [*failed, other]] == [True, True, True, False]
    told = [cli.json("job", "show", job_id) for job_id in failed]
    assert all(one["retried_as"] for one in told)
    assert cli.json("job", "show", other)["retried_as"] is None
    operation = made.split()[1].removesuffix(":")
    assert cli.json("job", "wait", operation)["result"] == {"done": 3, "skipped": 0}
    assert "no job that can be retried fits" in cli(*matching, "-q", "task:charge").stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("retry",), "give an ID, or --all-matching with a search"),
        (("cancel", "-q", "task:charge"), "give an ID, or --all-matching with a search"),
        (("retry", "01a1e1aa", "--all-matching", "-q", "task:a"), "not both"),
        (("cancel", "--all-matching"), "say which jobs"),
        (("retry", "--all-matching", "-q", "status:completed"), "jobs that are COMPLETED cannot be retried"),
    ],
)
def test_what_is_meant_must_be_said(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    assert told in cli("job", *arguments, code=2).stderr


def test_what_a_task_redacts_is_not_shown(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    app = holdfast_db.use(Holdfast())

    @app.task(redact=["card.number"], retries=0)
    def pay(card: dict[str, str]) -> None:
        raise ValueError(f"{card['number']} refused")

    job = pay.enqueue({"number": "4111-1111", "owner": "Ann"})
    app.schedules.create("monthly", pay, every=3600, payload={"card": {"number": "4111-1111"}})
    app.work(until_idle=True)
    app.close()

    told = [
        cli(*words, *form).stdout
        for words in (("job", "show", str(job.id)), ("job", "list"), ("schedule", "show", "monthly"))
        for form in ((), ("-o", "json"))
    ]

    assert not [text for text in told if "4111" in text]
    assert all("[redacted] refused" in text for text in told[:2])


# -- priority, queue, deletion ---------------------------------------------------------------------------------------------


def test_a_job_is_given_a_priority_and_a_queue_and_says_who_and_why(
    cli: Cli, holdfast_db: ScratchDatabase
) -> None:
    job_id = cli.enqueue("charge", '{"amount": 1}')
    with psycopg.connect(holdfast_db.owner_url, autocommit=True) as owner:
        owner.execute("insert into holdfast.queue (name) values ('slow')")

    first = cli("job", "reprioritise", job_id, "--to", "20", "--actor", "ana", "--reason", "urgent").stdout
    second = cli("job", "move", job_id, "--to", "slow", "--actor", "ana").stdout

    shown = cli.json("job", "show", job_id)
    assert (shown["priority"], shown["queue"]) == (20, "slow")
    assert (first.strip(), second.strip()) == (f"{job_id} has priority 20", f"{job_id} is in queue slow")
    assert "no task declares this queue" in cli("job", "move", job_id, "--to", "slwo", code=2).stderr
    cli("job", "reprioritise", job_id, "--to", "101", code=2)
    cli("job", "cancel", job_id)
    assert "cannot be moved: it is CANCELLED" in cli("job", "move", job_id, "--to", "slow", code=5).stderr


def test_what_has_ended_is_deleted_by_whoever_says_yes(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    job_id = cli.enqueue("charge", '{"amount": 1}')
    assert "only what has ended" in cli("job", "delete", job_id, "--yes", code=5).stderr
    cli("job", "cancel", job_id)
    with psycopg.connect(holdfast_db.owner_url, autocommit=True) as owner:
        project_all(Machine(owner))

    unsaid = cli("job", "delete", job_id, code=2).stderr
    many = cli("job", "delete", "--all-matching", "-q", "task:charge", code=2).stderr
    cli("job", "delete", job_id, "--yes", "--actor", "ana", "--reason", "asked to")

    assert "say --yes" in unsaid
    assert "Delete 1 job? Nobody can answer here: say --yes" in many
    cli("job", "show", job_id, code=4)
    with psycopg.connect(holdfast_db.owner_url) as owner:
        kept = owner.execute("select actor, action, target, reason from holdfast.audit").fetchall()
    assert kept == [("ana", "job.delete", job_id, "asked to")]


def test_all_jobs_that_match_get_a_priority(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    jobs = [cli.enqueue("charge", '{"amount": 1}', "--tag", "slow") for _ in range(2)]
    matching = ("job", "reprioritise", "--to", "-50", "--all-matching", "-q", "tag:slow")

    dry = cli(*matching, "--dry-run").stdout
    made = cli(*matching).stdout
    app = holdfast_db.use(shop)
    drain(app, queues={"holdfast": 1})
    app.close()

    assert "2 jobs would be given their priority" in dry
    assert "they will be given their priority" in made
    assert [cli.json("job", "show", job_id)["priority"] for job_id in jobs] == [-50, -50]
