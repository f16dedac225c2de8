"""The projector: what committed history says is counted once, in slices, by one process at a time, whatever commits when."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.support import Machine, Row, machine_on

# What usage must be, from the history alone.
RECKONED = """
select (h.at at time zone 'UTC')::date as day, j.tenant::text, j.task::text,
       count(*) filter (where h.from_status is null) as enqueued,
       count(*) filter (where h.to_status = 'RUNNING') as runs,
       count(*) filter (where h.to_status = 'COMPLETED') as completed,
       count(*) filter (where h.to_status = 'FAILED') as failed,
       count(*) filter (where h.to_status = 'CANCELLED') as cancelled,
       count(*) filter (where h.to_status = 'RETRY') as retried,
       coalesce(sum(h.attempt) filter (where h.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0) as attempts,
       coalesce(sum(extract(epoch from h.at - (select b.at from holdfast.job_history b where b.job_id = h.job_id and b.seq = h.seq - 1)))
                filter (where h.from_status = 'RUNNING'), 0) as run_seconds
  from holdfast.job_history h
  join holdfast.job j on j.id = h.job_id
 group by 1, 2, 3
 order by 1, 2 nulls first, 3
"""
KEPT = """
select day, tenant, task, enqueued, runs, completed, failed, cancelled, retried, attempts, run_seconds
  from holdfast.usage
 order by 1, 2 nulls first, 3
"""


@pytest.fixture
def each_lasting(each_db: ScratchDatabase) -> Iterator[Machine]:
    """Give the owner in autocommit on a database of the test's own, on each server."""
    with machine_on(each_db.owner_url) as machine:
        machine.register("t")
        machine.register("u")
        yield machine


def project(machine: Machine, limit: int = 10_000) -> Row:
    return machine.one("select * from holdfast.project(%s)", limit)


def project_all(machine: Machine, limit: int = 10_000) -> int:
    """Pass until nothing is left; answers how many rows that took."""
    rows: int = 0
    while True:
        done = project(machine, limit)
        rows += done["projected"] or 0  # nothing while another passes
        if not done["more"] and not done["projected"]:
            return rows


def feed(machine: Machine, channel: str, after: int = 0) -> list[Row]:
    return machine.rows("select * from holdfast.read_feed(%s, %s)", channel, after)


def kinds(machine: Machine, channel: str) -> list[str]:
    return [row["kind"] for row in feed(machine, channel)]


def is_exact(machine: Machine) -> None:
    assert machine.rows(KEPT) == machine.rows(RECKONED)


def total(machine: Machine, column: str) -> int:
    number: int = machine.value(f"select coalesce(sum({column}), 0) from holdfast.usage")
    return number


def stir(machine: Machine, chance: random.Random, jobs: int) -> None:
    """Make jobs and move them as chance has it, one statement at a time."""
    tenants = [None, "acme", "zen"]
    ids = [
        machine.enqueue(chance.choice(["t", "u"]), tenant=chance.choice(tenants), subject=chance.choice([None, "s1", "s2"]))
        for _ in range(jobs)
    ]  # fmt: skip
    ways = [
        [Status.RUNNING, Status.COMPLETED],
        [Status.RUNNING, Status.RETRY, Status.RUNNING, Status.COMPLETED],
        [Status.RUNNING, Status.WAITING, Status.RUNNING, Status.FAILED],
        [Status.CANCELLED],
        [Status.RUNNING],
    ]
    paths = [(job_id, list(chance.choice(ways))) for job_id in ids]
    while paths := [(job_id, path) for job_id, path in paths if path]:
        job_id, path = chance.choice(paths)
        machine.move(job_id, path.pop(0))


# -- exactly once ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 10_000])
def test_usage_adds_up_exactly_to_the_history(each_lasting: Machine, limit: int) -> None:
    chance = random.Random(limit)
    for _ in range(3):
        stir(each_lasting, chance, 15)
        project_all(each_lasting, limit)

    is_exact(each_lasting)
    assert project(each_lasting) == {"projected": 0, "events": 0, "more": False}


def test_usage_stays_exact_after_retention_removed_the_jobs(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    stir(each_lasting, random.Random(3), 30)
    project_all(each_lasting)
    before = each_lasting.rows(RECKONED)
    each_lasting.register("t", "u", retention=3600)
    each_db.clock.advance(7200)

    removed = each_lasting.one("select * from holdfast.upkeep()")["removed"]
    project_all(each_lasting)

    assert removed > 5
    assert each_lasting.rows(KEPT) == before


def test_retention_leaves_a_job_alone_until_it_is_projected(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    project_all(each_lasting)
    job_id = each_lasting.job_in(Status.COMPLETED)
    each_lasting.register("t", retention=3600)
    each_db.clock.advance(7200)

    kept = each_lasting.one("select * from holdfast.upkeep()")["removed"]
    assert each_lasting.status(job_id) is Status.COMPLETED
    project_all(each_lasting)
    removed = each_lasting.one("select * from holdfast.upkeep()")["removed"]

    assert (kept, removed) == (0, 1)
    assert total(each_lasting, "completed") == 1


def test_retention_waits_for_what_happened_without_a_move(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    job_id = lasting.job_in(Status.COMPLETED)
    project_all(lasting)
    lasting.value("select holdfast.note(%s, 'callback.late', 'x', '{}')", job_id)
    lasting.register("t", retention=3600)
    holdfast_db.clock.advance(7200)

    assert lasting.one("select * from holdfast.upkeep()")["removed"] == 0


def test_a_transaction_held_open_across_many_passes_is_counted_when_it_commits(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    with machine_on(each_db.owner_url) as slow:
        slow.connection.autocommit = False
        late = slow.enqueue(subject="s")
        for number in range(5):
            each_lasting.job_in(Status.COMPLETED, subject="s")
            project_all(each_lasting)
            assert total(each_lasting, "completed") == number + 1  # not stalled behind it
        slow.connection.commit()
    project_all(each_lasting)

    events = feed(each_lasting, "subject:s")
    assert [row["id"] for row in events] == list(range(1, 17))
    assert events[-1]["job_id"] == late
    is_exact(each_lasting)


def test_a_transaction_that_is_rolled_back_leaves_nothing(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    with machine_on(each_db.owner_url) as slow:
        slow.connection.autocommit = False
        slow.enqueue(subject="s")
        each_lasting.enqueue()
        project_all(each_lasting)
        slow.connection.rollback()
    each_lasting.enqueue()
    project_all(each_lasting)

    assert total(each_lasting, "enqueued") == 2
    assert feed(each_lasting, "subject:s") == []


def test_savepoints_and_prepared_sessions_are_counted_once(lasting: Machine) -> None:
    with lasting.connection.transaction():
        with lasting.connection.transaction():
            lasting.job_in(Status.COMPLETED)
        with lasting.connection.transaction(force_rollback=True):
            lasting.job_in(Status.COMPLETED)
        lasting.enqueue()
    project_all(lasting)

    is_exact(lasting)
    assert total(lasting, "enqueued") == 2


def test_what_the_projecting_transaction_itself_wrote_is_projected_by_a_later_pass(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    project_all(each_lasting)
    with machine_on(each_db.owner_url) as other, each_lasting.connection.transaction():
        each_lasting.enqueue()  # gets its number first …
        other.enqueue()  # … and a later one has committed when the snapshot is taken
        project(each_lasting)
    project_all(each_lasting)

    assert total(each_lasting, "enqueued") == 2


def test_a_pass_that_was_rolled_back_leaves_no_gap_and_loses_nothing(each_lasting: Machine) -> None:
    each_lasting.enqueue(subject="s")
    with each_lasting.connection.transaction(force_rollback=True):
        project_all(each_lasting)

    project_all(each_lasting)

    assert [(row["id"], row["kind"]) for row in feed(each_lasting, "subject:s")] == [(1, "job.enqueued")]
    is_exact(each_lasting)


def test_slices_hold_whole_transactions_and_are_bounded(each_lasting: Machine) -> None:
    project_all(each_lasting)
    for _ in range(6):
        each_lasting.enqueue_many([{"task": "t", "payload": {}} for _ in range(4)])

    sizes = []
    while (done := project(each_lasting, 5))["projected"]:
        sizes.append(done["projected"])

    assert sizes == [8, 8, 8]


def test_a_job_moved_by_transactions_numbered_in_another_order_keeps_its_order_across_slices(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    project_all(each_lasting)
    job_id = each_lasting.enqueue(subject="s")
    project_all(each_lasting)
    with machine_on(each_db.owner_url) as early:
        early.connection.autocommit = False
        early.enqueue()  # takes the lower number
        each_lasting.move(job_id, Status.RUNNING)
        early.move(job_id, Status.COMPLETED)
        early.connection.commit()

    project_all(each_lasting, 0)

    assert kinds(each_lasting, "subject:s") == ["job.enqueued", "job.started", "job.completed"]
    is_exact(each_lasting)


def test_a_history_from_before_the_projector_is_worked_off(each_lasting: Machine) -> None:
    each_lasting.run("update holdfast.projection set snapshot = '1:1:', cluster = null, ran_at = null")
    stir(each_lasting, random.Random(8), 20)

    project_all(each_lasting, 7)

    is_exact(each_lasting)


# -- several processes -----------------------------------------------------------------------------------------------------


def test_three_projectors_at_once_count_everything_once(
    each_db: ScratchDatabase, each_lasting: Machine
) -> None:
    done = threading.Event()

    def keep_projecting(_number: int) -> int:
        with machine_on(each_db.owner_url) as mine:
            rows = 0
            while not done.is_set():
                rows += project(mine, 20)["projected"] or 0
            return rows

    def write(number: int) -> None:
        with machine_on(each_db.owner_url) as mine:
            stir(mine, random.Random(number), 12)

    with ThreadPoolExecutor(7) as threads:
        projecting = [threads.submit(keep_projecting, number) for number in range(3)]
        for writing in [threads.submit(write, number) for number in range(4)]:
            writing.result()
        done.set()
        seen = sum(each.result() for each in projecting) + project_all(each_lasting)

    assert seen == each_lasting.count("holdfast.job_history")
    is_exact(each_lasting)


def test_who_finds_another_at_it_does_nothing(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.enqueue()
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        project(other)

        assert project(lasting) == {"projected": None, "events": None, "more": None}


def test_a_projector_that_is_killed_in_its_pass_leaves_it_to_the_next(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue(subject="s")
    with psycopg.connect(holdfast_db.owner_url) as doomed, suppress(psycopg.OperationalError):
        doomed.execute("select * from holdfast.project()")
        doomed.execute("select pg_terminate_backend(pg_backend_pid())")

    project_all(lasting)

    assert kinds(lasting, "subject:s") == ["job.enqueued"]
    is_exact(lasting)


def test_readers_see_no_gap_and_no_repeat_while_eight_writers_commit(
    holdfast_db: ScratchDatabase, lasting: Machine
) -> None:
    done = threading.Event()
    seen: list[int] = []

    def read() -> None:
        with machine_on(holdfast_db.owner_url) as mine:
            while True:
                ended = done.is_set()
                page = feed(mine, "subject:s", seen[-1] if seen else 0)
                seen.extend(row["id"] for row in page)
                if ended and not page:
                    return

    def keep_projecting() -> None:
        with machine_on(holdfast_db.owner_url) as mine:
            while not done.is_set():
                project(mine, 20)

    def write(_number: int) -> None:
        with machine_on(holdfast_db.owner_url) as mine:
            for _ in range(10):
                with mine.connection.transaction():
                    mine.job_in(Status.COMPLETED, subject="s")

    with ThreadPoolExecutor(10) as threads:
        reading, projecting = threads.submit(read), threads.submit(keep_projecting)
        for writing in [threads.submit(write, number) for number in range(8)]:
            writing.result()
        project_all(lasting)
        while lasting.value("select last_id from holdfast.channel where name = 'subject:s'") < 240:
            project_all(lasting)
        done.set()
        projecting.result()
        reading.result()

    assert seen == list(range(1, 241))


# -- another cluster -------------------------------------------------------------------------------------------------------


def restore(machine: Machine, ahead: int) -> None:
    """Make the database look restored from a dump of another cluster whose transaction numbers were that far ahead."""
    machine.run("set session_replication_role = replica")
    machine.run("alter table holdfast.job_history disable trigger history_is_append_only")
    for (partition,) in machine.connection.execute(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'holdfast.job_history'::regclass"
    ).fetchall():
        machine.run(f"alter table {partition} disable trigger history_is_append_only")
    machine.run("update holdfast.job_history set xid = xid + %s", ahead)
    machine.run(
        "update holdfast.projection set cluster = 1, snapshot = holdfast.as_snapshot("
        "(pg_snapshot_xmax(snapshot)::text::bigint + %s),"
        " array(select x + %s from unnest(holdfast.running_in(snapshot)) as x))",
        ahead, ahead,
    )  # fmt: skip
    machine.run("reset session_replication_role")


@pytest.mark.parametrize("ahead", [0, 1_000_000, -300])
def test_a_restored_dump_is_neither_counted_twice_nor_lost(each_lasting: Machine, ahead: int) -> None:
    chance = random.Random(ahead)
    stir(each_lasting, chance, 20)
    project_all(each_lasting)
    stir(each_lasting, chance, 10)  # not projected before the dump
    restore(each_lasting, ahead)
    stir(each_lasting, chance, 10)  # written here before anybody noticed

    project_all(each_lasting, 7)

    is_exact(each_lasting)
    for channel in ("subject:s1", "subject:s2"):
        ids = [row["id"] for row in feed(each_lasting, channel)]
        assert ids == list(range(1, len(ids) + 1))
    told = {
        (row["job_id"], row["data"]["seq"])
        for name in ("s1", "s2")
        for row in feed(each_lasting, f"subject:{name}")
    }
    written = each_lasting.rows(
        "select h.job_id, h.seq from holdfast.job_history h join holdfast.job j on j.id = h.job_id where j.subject is not null"
    )
    assert told == {(row["job_id"], row["seq"]) for row in written}
    assert each_lasting.count("holdfast.left_over") == 0


def test_numbers_of_another_cluster_are_not_read_again_when_this_one_comes_to_them(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    chance = random.Random(5)
    project_all(each_lasting)
    stir(each_lasting, chance, 10)
    project_all(each_lasting)
    restore(each_lasting, 100)
    project_all(each_lasting)
    with machine_on(each_db.owner_url) as slow:
        slow.connection.autocommit = False
        slow.enqueue()
        for _ in range(6):
            stir(each_lasting, chance, 5)
            project_all(each_lasting, 3)
        slow.connection.commit()
    project_all(each_lasting)

    ahead = each_lasting.value(
        "select max(xid) - pg_snapshot_xmax(pg_current_snapshot())::text::bigint from holdfast.job_history"
    )
    assert ahead < 0
    is_exact(each_lasting)


def test_retention_waits_until_a_restored_dump_was_taken_over(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    each_lasting.job_in(Status.COMPLETED)
    project_all(each_lasting)
    restore(each_lasting, 1_000_000)
    each_lasting.register("t", retention=3600)
    each_db.clock.advance(7200)

    assert each_lasting.one("select * from holdfast.upkeep()")["removed"] == 0
    project_all(each_lasting)
    assert each_lasting.one("select * from holdfast.upkeep()")["removed"] == 1


def test_an_unprivileged_login_learns_which_cluster_it_is_on(app_login: Machine, lasting: Machine) -> None:
    lasting.enqueue()

    assert app_login.one("select * from holdfast.project()")["projected"] is not None
    assert lasting.value("select cluster from holdfast.projection") == lasting.value(
        "select system_identifier from pg_control_system()"
    )


# -- plans and idleness ----------------------------------------------------------------------------------------------------


def test_every_partition_has_the_index_that_the_projector_reads_by(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    each_db.clock.advance(62 * 86400)
    each_lasting.one("select * from holdfast.upkeep()")

    without = each_lasting.rows(
        "select i.inhrelid::regclass from pg_inherits i where i.inhparent = 'holdfast.job_history'::regclass"
        " and not exists (select from pg_index x where x.indrelid = i.inhrelid and pg_get_indexdef(x.indexrelid) like '%%(xid)')"
    )

    assert without == []


def test_an_idle_pass_writes_nothing(lasting: Machine) -> None:
    lasting.enqueue()
    project_all(lasting)
    before = lasting.value("select xmin::text || ctid::text from holdfast.projection")

    project(lasting)

    assert lasting.value("select pg_current_xact_id_if_assigned()") is None
    assert lasting.value("select xmin::text || ctid::text from holdfast.projection") == before


# -- times -----------------------------------------------------------------------------------------------------------------


def timing(machine: Machine, what: str) -> list[tuple[float, int]]:
    rows = machine.rows(
        "select holdfast.bucket_floor(bucket) as least, sum(count)::int as jobs from holdfast.timing where what = %s group by bucket order by 1", what
    )  # fmt: skip
    return [(row["least"], row["jobs"]) for row in rows]


def test_run_time_is_from_the_start_to_the_end_of_the_attempt(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    job_id = each_lasting.enqueue()
    each_db.clock.advance(5)
    each_lasting.move(job_id, Status.RUNNING)
    each_db.clock.advance(60)
    each_lasting.move(job_id, Status.COMPLETED)

    project_all(each_lasting)

    [(run, _)] = timing(each_lasting, "run")
    [(wait, _)] = timing(each_lasting, "wait")
    assert run <= 60.5 < run * 2**0.25 * 1.02
    assert wait <= 5.5 < wait * 2**0.25 * 1.2
    assert 60 <= total(each_lasting, "run_seconds") < 62
    assert total(each_lasting, "external_seconds") == 0


def test_wait_counts_from_when_the_job_was_due(each_lasting: Machine, each_db: ScratchDatabase) -> None:
    job_id = each_lasting.enqueue(run_in="1 hour")
    each_db.clock.advance(3602)
    each_lasting.move(job_id, Status.RUNNING)
    each_lasting.move(job_id, Status.RETRY, due_in=600)
    each_db.clock.advance(602)
    each_lasting.move(job_id, Status.RUNNING)

    project_all(each_lasting)

    assert all(least < 3 for least, _ in timing(each_lasting, "wait"))
    assert sum(jobs for _, jobs in timing(each_lasting, "wait")) == 2


def test_buckets_meet_without_gap_or_overlap(machine: Machine) -> None:
    wrong = machine.rows(
        "select b from generate_series(1, 127) as b"
        " where holdfast.bucket_of(make_interval(secs => holdfast.bucket_floor(b) * 1.0001 + 0.0000005)) <> b"
    )

    assert wrong == []


def test_retries_are_distributed_by_how_many_an_ended_job_had(lasting: Machine) -> None:
    worker = lasting.worker()
    lasting.enqueue()
    for _ in range(2):
        lasting.settle(worker, *lasting.claim(worker), outcome="failed", error={"type": "X"}, delay=0)
    lasting.complete(worker, *lasting.claim(worker))
    lasting.enqueue()
    lasting.complete(worker, *lasting.claim(worker))

    project_all(lasting)

    rows = lasting.rows("select bucket, count from holdfast.timing where what = 'retries' order by 1")
    assert [(row["bucket"], row["count"]) for row in rows] == [(0, 1), (2, 1)]


def test_the_tally_knows_how_many_jobs_have_each_status(each_lasting: Machine) -> None:
    stir(each_lasting, random.Random(21), 30)
    project_all(each_lasting)

    counted = each_lasting.rows(
        "select task, status::text, sum(entered - departed)::int as n from holdfast.tally group by 1, 2 having sum(entered - departed) <> 0 order by 1, 2"
    )

    assert counted == each_lasting.rows(
        "select task::text, status::text, count(*)::int as n from holdfast.job group by 1, 2 order by 1, 2"
    )
