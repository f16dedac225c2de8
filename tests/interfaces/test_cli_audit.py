from uuid import UUID

import psycopg
import pytest

from guarantees.past import Past
from holdfast.testing import ScratchDatabase
from interfaces.calling import Cli
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
    owner.execute("update holdfast.usage set runs = runs + 1 where task = 'plain'")

    assert cli.json("audit")["clean"]
    assert [each["code"] for each in cli.json("audit", "--at-rest", code=3)["findings"]] == ["G05"]


def test_findings_end_where_they_are_too_many(cli: Cli, past: Past, owner: Owner) -> None:
    for name in ("done", "failed", "kept"):
        corrupt(owner, past.ids[name])

    assert len(cli.json("audit", "--most", "2", code=3)["findings"]) == 2


def test_one_way_of_saying_what_to_look_at(cli: Cli) -> None:
    assert "give one" in cli("audit", "--sample", "3", "--job", str(UUID(int=1)), code=2).stderr


def test_an_audit_writes_nothing_and_reads_no_table_of_jobs_from_end_to_end_for_a_sample(
    cli: Cli, past: Past, owner: Owner
) -> None:
    """The plans are those of a large table: the planner is told that reading all of it costs much."""
    del past
    owner.execute("analyze holdfast.job, holdfast.job_history")
    before = owner.execute(SCANS).fetchone()
    owner.execute(f"alter database {owner.info.dbname} set enable_seqscan = off")

    cli("audit", "--sample", "5")
    owner.execute("select pg_stat_force_next_flush()")

    assert owner.execute(SCANS).fetchone() == before


SCANS = "select sum(seq_scan) from pg_stat_all_tables where relid = 'holdfast.job'::regclass"
