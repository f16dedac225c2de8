import json
from collections.abc import Callable
from subprocess import Popen
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.past import Past
from holdfast.testing import ScratchDatabase
from interfaces.calling import PATIENCE, Cli
from sql.support import machine_on

Owner = psycopg.Connection


@pytest.fixture
def past(holdfast_db: ScratchDatabase) -> Past:
    with machine_on(holdfast_db.owner_url) as machine:
        return Past(machine)


def corrupt(owner: Owner, job_id: UUID) -> None:
    owner.execute("alter table holdfast.job disable trigger user")
    owner.execute("update holdfast.job set attempt = 7 where id = %s", (job_id,))
    owner.execute("alter table holdfast.job enable trigger user")
    for (name,) in owner.execute(
        "select tgname from pg_trigger where tgrelid = 'holdfast.job'::regclass and not tgisinternal"
    ).fetchall():
        owner.execute(f"alter table holdfast.job enable always trigger {name}")


@pytest.mark.usefixtures("past")
def test_a_sound_database_is_exit_code_0_and_nothing_on_stdout(cli: Cli) -> None:
    told = cli("audit", "--at-rest")

    assert told.stdout == ""
    assert told.stderr.endswith("jobs, nothing found\n")
    assert cli("audit", "-q").output == ""
    assert cli.json("audit")["findings"] == []


def test_a_finding_names_its_rule_its_job_and_what_to_do(cli: Cli, past: Past, owner: Owner) -> None:
    corrupt(owner, past.ids["done"])

    told = cli.json("audit", code=3)

    (finding,) = told["findings"]
    assert (told["clean"], finding["code"], finding["job_id"]) == (False, "A09", str(past.ids["done"]))
    assert finding["what"] == "it counts 7 attempts, and was claimed 1 times"
    assert finding["rule"] == "a job's attempt is the number of its claims"
    assert "compare with a backup" in finding["advice"]
    assert f"A09 job {past.ids['done']}: it counts 7 attempts" in cli("audit", code=3).stdout
    assert cli("audit", "-o", "id", code=3).stdout.split() == [str(past.ids["done"])]


def test_one_job_is_looked_at_alone(cli: Cli, past: Past, owner: Owner) -> None:
    corrupt(owner, past.ids["done"])

    assert cli.json("audit", "--job", str(past.ids["failed"]))["jobs"] == 1
    assert cli.json("audit", "--job", str(past.ids["done"]), code=3)["jobs"] == 1


def test_a_sample_has_as_many_jobs_as_asked_for_and_begins_with_the_newest(
    cli: Cli, past: Past, owner: Owner
) -> None:
    corrupt(owner, past.ids["delivered"])  # the newest

    told = cli.json("audit", "--sample", "3", code=3)

    assert (told["jobs"], [each["job_id"] for each in told["findings"]]) == (3, [str(past.ids["delivered"])])


def test_a_sample_of_many_places_reads_each_by_its_ids(
    cli: Cli, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.interfaces.auditing.SAMPLE", 2)

    told = cli.json("audit", "--sample", "10")

    assert 2 <= told["jobs"] <= 10
    assert len(past.ids) > 10


def test_small_slices_find_what_one_finds(
    cli: Cli, past: Past, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrupt(owner, past.ids["done"])
    monkeypatch.setattr("holdfast.interfaces.auditing.SLICE", 1)
    monkeypatch.setattr("holdfast.interfaces.auditing.EVENTS", 3)

    told = cli.json("audit", code=3)

    assert [each["code"] for each in told["findings"]] == ["A09"]
    assert (told["jobs"],) == owner.execute("select count(*) from holdfast.job").fetchone()


@pytest.mark.usefixtures("past")
def test_a_guard_that_was_switched_off_is_named(cli: Cli, owner: Owner) -> None:
    owner.execute("alter table holdfast.job_history disable trigger history_is_kept")

    told = cli.json("audit", "--sample", "5", code=3)

    assert (
        "trigger job_history.history_is_kept is not as this release made it, or is switched off or not valid"
        in {each["what"] for each in told["findings"]}
    )


@pytest.mark.usefixtures("past")
def test_figures_that_say_less_than_the_history_are_found_while_work_goes_on(cli: Cli, owner: Owner) -> None:
    owner.execute("update holdfast.usage set runs = runs - 1 where task = 'plain'")
    owner.execute(
        "update holdfast.statistic set started = started - 1 where task = 'rated' or task = 'plain'"
    )

    told = cli.json("audit", code=3)

    assert {each["code"] for each in told["findings"]} == {"G05", "G06"}


@pytest.mark.usefixtures("past")
def test_figures_that_say_more_are_found_at_rest_where_nothing_was_removed(cli: Cli, owner: Owner) -> None:
    owner.execute("update holdfast.usage set runs = runs + 1 where task = 'undone'")

    assert cli.json("audit")["clean"]
    assert [each["code"] for each in cli.json("audit", "--at-rest", code=3)["findings"]] == ["G05"]


def test_findings_end_where_they_are_too_many_and_that_is_said(cli: Cli, past: Past, owner: Owner) -> None:
    for name in ("done", "failed", "kept"):
        corrupt(owner, past.ids[name])

    told = cli.json("audit", "--most", "2", code=3)
    assert (len(told["findings"]), told["truncated"], told["finished"]) == (2, True, False)
    assert "stopped there (--most 2)" in cli("audit", "--most", "2", code=3).stderr
    whole = cli.json("audit", code=3)
    assert (len(whole["findings"]), whole["truncated"], whole["finished"]) == (3, False, True)


def test_findings_are_written_when_they_are_found(
    process: Callable[..., Popen[str]], past: Past, owner: Owner
) -> None:
    corrupt(owner, past.ids["done"])
    with owner.transaction():
        owner.execute(
            "lock table holdfast.usage in access exclusive mode"
        )  # which is looked at behind the jobs
        audit = process("audit", "-o", "jsonl")

        assert audit.stdout is not None
        first = json.loads(audit.stdout.readline())
        assert (first["code"], audit.poll()) == ("A09", None)

    assert audit.wait(PATIENCE) == 3


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "id"])
def test_what_was_found_before_an_error_is_written_and_the_exit_code_says_that_it_was_not_all(
    cli: Cli, past: Past, owner: Owner, output: str
) -> None:
    corrupt(owner, past.ids["done"])
    with owner.transaction():
        owner.execute("lock table holdfast.usage in access exclusive mode")

        told = cli("audit", "--timeout", "2", "-o", output, code=75)

    assert str(past.ids["done"]) in told.stdout
    assert "not finished: guards (H): a statement took longer than 2 s" in told.stderr
    assert "--sample" in told.stderr
    assert "cannot be reached" not in told.stderr
    if output == "json":
        document = json.loads(told.stdout)
        assert (document["clean"], document["finished"]) == (False, False)
        assert "guards (H)" in document["error"]


def test_a_table_that_is_gone_leaves_what_was_found(cli: Cli, past: Past, owner: Owner) -> None:
    corrupt(owner, past.ids["done"])
    owner.execute("drop table holdfast.timing")  # which is read behind all jobs

    told = cli("audit", code=75)

    assert str(past.ids["done"]) in told.stdout
    assert (
        "not finished: deliveries, schedules, channels, minutes and histograms (E03, F04, G04, G06, G07): "
        in told.stderr
    )


def not_checked(told: Any) -> dict[str, str]:
    return {code: each["why"] for each in told["not_checked"] for code in each["codes"]}


@pytest.mark.usefixtures("past")
def test_what_was_not_checked_is_said_with_the_reason(cli: Cli) -> None:
    told = not_checked(cli.json("audit"))
    sampled = not_checked(cli.json("audit", "--sample", "5"))
    at_rest = not_checked(cli.json("audit", "--at-rest"))

    assert {"A12", "A14", "F06", "I01", "I03", "B06", "G05", "G06", "H07", "I06"} <= set(told)
    assert "--at-rest" in told["A12"]
    assert "ended jobs were not counted" in told["B06"]
    assert "pg_read_all_stats" in told["I06"]
    assert "a sample" in sampled["G02"]
    assert set(at_rest) <= {"H07", "I01", "I04", "I06"}
    assert "not checked: A12, A14, F06, I01, I03: " in cli("audit").stderr


@pytest.mark.usefixtures("past")
def test_a_login_that_sees_every_session_says_nothing_of_it(cli: Cli, owner: Owner, login: Owner) -> None:
    owner.execute(f"grant pg_read_all_stats to {login.info.user}")
    try:
        assert "I06" not in not_checked(cli.json("audit", "--at-rest"))
    finally:
        owner.execute(f"revoke pg_read_all_stats from {login.info.user}")


@pytest.mark.usefixtures("past")
def test_figures_that_another_server_made_are_not_compared_and_that_is_said(cli: Cli, owner: Owner) -> None:
    owner.execute("update holdfast.projection set cluster = 1")
    owner.execute("update holdfast.usage set runs = runs - 1 where task = 'plain'")

    told = cli.json("audit", "--at-rest")

    assert told["findings"] == []
    assert {"B06", "G01", "G05", "G06"} <= set(not_checked(told))
    assert "another server" in not_checked(told)["G05"]


@pytest.mark.usefixtures("past")
def test_figures_are_not_compared_exactly_where_a_job_was_removed_and_that_is_said(
    cli: Cli, owner: Owner
) -> None:
    owner.execute("select holdfast.delete_job(id, 'ann') from holdfast.job where status = 'CANCELLED'")

    told = cli.json("audit", "--at-rest")

    assert (told["findings"], "jobs were removed" in not_checked(told)["G05"]) == ([], True)


@pytest.mark.usefixtures("past")
def test_a_job_that_is_not_there_is_exit_code_4(cli: Cli) -> None:
    unknown = str(UUID(int=1))

    told = cli("audit", "--job", unknown, code=4)

    assert (told.stdout, f"no job has the id {unknown}" in told.stderr) == ("", True)


def test_what_is_left_of_a_job_that_is_gone_is_a_finding(cli: Cli, past: Past, owner: Owner) -> None:
    owner.execute("alter table holdfast.job disable trigger user")
    owner.execute("delete from holdfast.job where id = %s", (past.ids["done"],))

    told = cli.json("audit", "--job", str(past.ids["done"]), code=3)

    assert {"B05", "F03"} <= {each["code"] for each in told["findings"]}


def test_one_way_of_saying_what_to_look_at(cli: Cli) -> None:
    assert "give one" in cli("audit", "--sample", "3", "--job", str(UUID(int=1)), code=2).stderr


@pytest.mark.new_database
def test_a_sample_reads_no_table_of_jobs_from_end_to_end(cli: Cli, past: Past, owner: Owner) -> None:
    """The plans are those of a large table: the planner is told that reading all of it costs much."""
    del past
    owner.execute("analyze holdfast.job, holdfast.job_history")
    before = owner.execute(SCANS).fetchone()
    owner.execute(f"alter database {owner.info.dbname} set enable_seqscan = off")

    cli("audit", "--sample", "5")
    owner.execute("select pg_stat_force_next_flush()")

    assert owner.execute(SCANS).fetchone() == before


SCANS = "select sum(seq_scan) from pg_stat_all_tables where relid = 'holdfast.job'::regclass"
