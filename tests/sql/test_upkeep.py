"""Months of history made ahead of time, and retention: the one way out."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.gates import admit, in_line
from sql.support import TERMINAL, Machine, Row, machine_on, meanwhile, until_it_waits, until_somebody_waits

DAY = timedelta(days=1)


@pytest.fixture
def each_lasting(each_db: ScratchDatabase) -> Iterator[Machine]:
    """Give the owner in autocommit on a database of the test's own, on each server."""
    with machine_on(each_db.owner_url) as machine:
        machine.register("t")
        yield machine


def months(machine: Machine) -> list[str]:
    rows = machine.rows(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'holdfast.job_history'::regclass order by 1"
    )
    return [row["relname"] for row in rows]


def project(machine: Machine) -> None:
    """Let the projector see what there is: retention leaves alone what it has not seen."""
    while machine.one("select * from holdfast.project()")["more"]:
        pass


def month(machine: Machine, ahead: int = 0) -> str:
    at = "date_trunc('month', holdfast.clock() at time zone 'UTC') + make_interval(months => %s)"
    name: str = machine.value(f"select 'job_history_' || to_char({at}, 'YYYYMM')", ahead)
    return name


def upkeep(machine: Machine) -> dict[str, int]:
    project(machine)
    return machine.one("select * from holdfast.upkeep()")


# -- partitions ------------------------------------------------------------------------------------------------------------


def test_a_fresh_schema_has_this_month_and_three_more(each_lasting: Machine) -> None:
    assert months(each_lasting) == [*(month(each_lasting, ahead) for ahead in range(4)), "job_history_rest"]


def test_upkeep_makes_nothing_twice(each_lasting: Machine) -> None:
    before = months(each_lasting)

    assert upkeep(each_lasting)["partitions"] == 0
    assert months(each_lasting) == before


def test_upkeep_makes_new_months_as_time_goes_by(each_lasting: Machine, each_db: ScratchDatabase) -> None:
    each_db.clock.advance(62 * DAY)

    made = upkeep(each_lasting)["partitions"]

    assert made in {1, 2, 3}
    assert {month(each_lasting, ahead) for ahead in range(4)} <= set(months(each_lasting))


def test_a_month_made_by_upkeep_is_bound_to_tenants_like_the_first(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    each_db.clock.advance(62 * DAY)

    upkeep(each_lasting)

    unbound = each_lasting.rows(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = 'holdfast.job_history'::regclass and not c.relrowsecurity"
    )
    assert unbound == []


def test_upkeep_in_another_time_zone_makes_the_same_months(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(62 * DAY)
    lasting.run("set timezone = 'Pacific/Kiritimati'")

    upkeep(lasting)

    starts = lasting.rows(
        "select pg_get_expr(c.relpartbound, c.oid) as range from pg_class c where c.relname ~ '^job_history_\\d{6}$'"
    )
    for row in starts:
        first = UUID(row["range"].split("'")[1])
        at = datetime.fromtimestamp((first.int >> 80) / 1000, UTC)
        assert (at.day, at.hour, at.minute) == (1, 0, 0)


def test_a_jobs_history_is_in_the_month_of_its_id(each_lasting: Machine) -> None:
    job_id = each_lasting.job_in(Status.COMPLETED)

    homes = each_lasting.rows(
        "select distinct tableoid::regclass::text as home from holdfast.job_history where job_id = %s", job_id
    )

    assert [row["home"] for row in homes] == [f"holdfast.{month(each_lasting)}"]


def test_reading_one_jobs_history_touches_one_partition(each_lasting: Machine) -> None:
    job_id = each_lasting.enqueue()

    plan = each_lasting.rows(f"explain select * from holdfast.job_history where job_id = '{job_id}'")

    scanned = {
        line["QUERY PLAN"].split(" on ")[1].split()[0].removesuffix("_pkey")
        for line in plan
        if "job_history" in line["QUERY PLAN"] and " on " in line["QUERY PLAN"]
    }
    assert scanned == {month(each_lasting)}


def test_rows_of_a_month_that_came_too_early_do_not_break_upkeep(
    each_lasting: Machine, each_db: ScratchDatabase
) -> None:
    soon = each_lasting.value("select holdfast.clock() + interval '100 days'")
    job_id = each_lasting.value("select overlay(holdfast.uuid_at(%s)::text placing '7' from 15)::uuid", soon)
    each_lasting.enqueue(id=job_id)
    each_db.clock.advance(100 * DAY)

    upkeep(each_lasting)
    each_lasting.move(job_id, Status.CANCELLED)
    other = each_lasting.enqueue()

    assert each_lasting.path(job_id) == [Status.PENDING, Status.CANCELLED]
    assert each_lasting.path(other) == [Status.PENDING]
    assert month(each_lasting, 3) in months(each_lasting)


def test_two_upkeeps_at_once_make_each_month_once(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    holdfast_db.clock.advance(62 * DAY)

    def run(_: int) -> int | None:
        with machine_on(holdfast_db.owner_url) as mine:
            return upkeep(mine)["partitions"]

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(run, range(4)))

    assert sum(answer or 0 for answer in answers) in {1, 2, 3}
    assert month(lasting, 3) in months(lasting)


def test_an_upkeep_that_finds_another_at_work_leaves_it_alone(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        upkeep(other)

        assert upkeep(lasting) == {"partitions": None, "removed": None, "forgotten": None}


def test_a_busy_table_is_left_alone_and_tried_again(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    holdfast_db.clock.advance(31 * DAY)
    with machine_on(holdfast_db.owner_url) as busy, busy.connection.transaction():
        busy.run("lock table holdfast.job_history_rest in access share mode")

        assert upkeep(lasting)["partitions"] == 0
    assert upkeep(lasting)["partitions"] in {1, 2}


def test_a_month_that_was_not_made_leaves_no_table_behind(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    holdfast_db.clock.advance(31 * DAY)
    with machine_on(holdfast_db.owner_url) as busy, busy.connection.transaction():
        busy.run("lock table holdfast.job_history_rest in access share mode")
        upkeep(lasting)

    assert (
        lasting.value(
            "select count(*) from pg_class c where c.relname ~ '^job_history_\\d{6}$' and not c.relispartition"
        )
        == 0
    )


def test_enqueue_goes_on_while_upkeep_makes_months(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    holdfast_db.clock.advance(31 * DAY)
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        upkeep(other)
        lasting.run("set lock_timeout = '2s'")

        job_id = lasting.job_in(Status.COMPLETED)

        assert lasting.status(job_id) is Status.COMPLETED


def test_months_long_gone_and_empty_are_dropped(each_lasting: Machine, each_db: ScratchDatabase) -> None:
    first = month(each_lasting)
    each_db.clock.advance(70 * DAY)

    upkeep(each_lasting)

    assert first not in months(each_lasting)
    assert month(each_lasting) in months(each_lasting)


def test_a_month_with_history_is_never_dropped(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    first, job_id = month(lasting), lasting.enqueue()
    holdfast_db.clock.advance(400 * DAY)

    upkeep(lasting)

    assert first in months(lasting)
    assert lasting.path(job_id) == [Status.PENDING]


def test_dropping_a_month_waits_for_nobody_who_reads(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    first = month(lasting)
    holdfast_db.clock.advance(70 * DAY)
    with machine_on(holdfast_db.owner_url) as reader, reader.connection.transaction():
        reader.rows("select count(*) from holdfast.job_history")

        lasting.value("select holdfast.drop_empty_history_partitions()")

        assert first in months(lasting)
        assert reader.value("select count(*) from holdfast.job_history") == 0


@pytest.mark.parametrize("taking_long", ["storage", "rate_slot"])
def test_nobody_waits_for_upkeep_while_it_does_what_takes_long(
    lasting: Machine, holdfast_db: ScratchDatabase, taking_long: str
) -> None:
    first = month(lasting)
    holdfast_db.clock.advance(70 * DAY)  # a month is to be dropped, others are to be made
    job_id = lasting.enqueue()
    lasting.run("set lock_timeout = '5s'")
    with machine_on(holdfast_db.owner_url) as other, ThreadPoolExecutor(1) as pool:
        with other.connection.transaction():
            other.run(f"lock table holdfast.{taking_long} in exclusive mode")
            kept = pool.submit(keep_up_elsewhere, holdfast_db)
            until_somebody_waits(holdfast_db)

            assert lasting.rows(HISTORY_LOCKED) == []
            lasting.enqueue()
            projected = lasting.one("select * from holdfast.project()")["projected"]
            read = [lasting.path(job_id), lasting.value("select count(*) from holdfast.job_history_rest")]
        kept.result()

    assert projected is not None  # a pass that finds the projection taken answers nothing
    assert read == [[Status.PENDING], 0]
    assert first not in months(lasting)
    assert month(lasting, ahead=3) in months(lasting)


# Locks under which others would wait that read or write history.
HISTORY_LOCKED = """
select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation
 where c.relname like 'job_history%%' and l.mode in ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
"""


def keep_up_elsewhere(database: ScratchDatabase) -> None:
    with machine_on(database.owner_url) as machine:
        machine.one("select * from holdfast.keep_up()")


# -- retention -------------------------------------------------------------------------------------------------------------


def test_retention_spares_failed_jobs_of_a_task_that_keeps_them(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400, options={"keep_failed": True})
    jobs = {status: lasting.job_in(status) for status in TERMINAL}
    holdfast_db.clock.advance(2 * DAY)

    upkeep(lasting)

    left = lasting.rows("select id from holdfast.job")
    assert [row["id"] for row in left] == [jobs[Status.FAILED]]


@pytest.mark.parametrize("status", TERMINAL)
def test_retention_removes_a_job_with_its_history_and_attempts(
    each_lasting: Machine, each_db: ScratchDatabase, status: Status
) -> None:
    each_lasting.register("t", retention=86400)
    worker, job_id = each_lasting.worker(), each_lasting.enqueue()
    (claimed,) = each_lasting.claim(worker)
    each_lasting.run(
        "select holdfast.save_logs(%s, array[%s], '{1}', array[%s], '{0}', '{[1]}')",
        worker, job_id, claimed["claim_id"],
    )  # fmt: skip
    each_lasting.settle(worker, claimed, outcome="failed", error={"type": "Boom"}, delay=0)
    if status is not Status.CANCELLED:
        each_lasting.move(job_id, Status.RUNNING)
    each_lasting.move(job_id, status)
    each_db.clock.advance(2 * DAY)

    removed = upkeep(each_lasting)["removed"]

    assert removed == 1
    assert (each_lasting.count(), each_lasting.history(job_id), each_lasting.attempts(job_id)) == (0, [], [])
    assert each_lasting.count("holdfast.log_part") == 0


def keep_up(machine: Machine, limit: int) -> tuple[int, bool]:
    project(machine)
    kept = machine.one("select * from holdfast.keep_up(%s)", limit)
    return kept["removed"], kept["more"]


def test_a_pass_says_whether_it_has_left_something(each_lasting: Machine, each_db: ScratchDatabase) -> None:
    each_lasting.register("t", retention=86400)
    for _ in range(3):
        each_lasting.job_in(Status.COMPLETED)
    each_db.clock.advance(2 * DAY)

    assert [keep_up(each_lasting, 2) for _ in range(2)] == [(2, True), (1, False)]


def test_a_task_of_which_there_is_always_more_keeps_no_others_from_their_turn(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    for task in ("busy", "rare"):
        lasting.register(task, retention=86400)
    for task, times in (("busy", 30), ("rare", 1)):
        for _ in range(times):
            lasting.job_in(Status.COMPLETED, task=task)
    holdfast_db.clock.advance(2 * DAY)

    # One of thirty passes begins with the rare one, unless chance says otherwise thirty times: once in a billion runs.
    passes = 0
    while lasting.value("select count(*) from holdfast.job where task = 'rare'") and passes < 30:
        keep_up(lasting, 1)
        passes += 1

    assert lasting.value("select array_agg(distinct task::text) from holdfast.job") == ["busy"]


@pytest.mark.parametrize(
    "leave",
    [
        "insert into holdfast.callback_nonce (job_id, nonce, body_hash, answer, at) select %s, n::text, '', '{}', holdfast.clock() from generate_series(1, 3) n",
        "insert into holdfast.feed (channel, id, at, kind, data) select 'c', n, holdfast.clock(), 'k', '{}' from generate_series(1, 3) n where %s is not null",
    ],
    ids=["nonces", "events"],
)
def test_whatever_else_is_left_is_said_too(
    lasting: Machine, holdfast_db: ScratchDatabase, leave: str
) -> None:
    job_id = lasting.job_in(Status.COMPLETED)
    lasting.run(leave, job_id)
    holdfast_db.clock.advance(100 * DAY)

    assert [keep_up(lasting, 2)[1] for _ in range(2)] == [True, False]


def test_who_is_never_done_with_retention_does_the_rest_every_ten_minutes(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400)
    for _ in range(5):
        lasting.job_in(Status.COMPLETED)
    holdfast_db.clock.advance(2 * DAY)
    ran_at = []
    for _ in range(3):
        assert keep_up(lasting, 1) == (1, True)
        ran_at.append(lasting.value("select ran_at from holdfast.upkeep"))
        holdfast_db.clock.advance(timedelta(minutes=6))

    first, second, third = ran_at
    assert first == second
    assert third != second


@pytest.mark.parametrize("status", [status for status in Status if not status.is_terminal])
def test_retention_never_removes_a_job_that_has_not_ended(
    lasting: Machine, holdfast_db: ScratchDatabase, status: Status
) -> None:
    lasting.register("t", retention=1)
    job_id = lasting.job_in(status)
    holdfast_db.clock.advance(1000 * DAY)

    assert upkeep(lasting)["removed"] == 0
    assert lasting.status(job_id) is status


def test_retention_counts_from_the_end_not_from_the_birth(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400)
    job_id = lasting.job_in(Status.RUNNING)
    holdfast_db.clock.advance(10 * DAY)
    lasting.move(job_id, Status.COMPLETED)

    assert upkeep(lasting)["removed"] == 0


def test_each_task_has_its_own_retention_and_none_means_for_ever(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("short", retention=86400)
    lasting.register("long", retention=86400 * 30)
    jobs = {task: lasting.job_in(Status.COMPLETED, task) for task in ("t", "short", "long")}
    holdfast_db.clock.advance(5 * DAY)

    upkeep(lasting)

    left = {row["id"] for row in lasting.rows("select id from holdfast.job")}
    assert left == {jobs["t"], jobs["long"]}


def test_retention_keeps_a_job_while_its_retry_goes_on(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400)
    failed = lasting.job_in(Status.FAILED)
    lasting.value("select holdfast.retry(%s)", failed)
    holdfast_db.clock.advance(5 * DAY)

    assert upkeep(lasting)["removed"] == 0
    assert lasting.status(failed) is Status.FAILED


def test_retention_keeps_a_job_until_it_is_undone(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", retention=86400, options={"compensate": True})
    failed = lasting.job_in(Status.FAILED)
    undoing = lasting.value("select id from holdfast.job where compensates = %s", failed)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    lasting.move(undoing, Status.RUNNING)
    lasting.move(undoing, Status.FAILED)
    assert upkeep(lasting)["removed"] == 0  # somebody may retry it

    holdfast_db.clock.advance(5 * DAY)
    assert [upkeep(lasting)["removed"] for _ in range(2)] == [1, 1]


def test_retention_keeps_what_a_job_that_goes_on_wants_to_read(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400)
    done, late = lasting.job_in(Status.COMPLETED), lasting.enqueue()
    lasting.enqueue_many([{"task": "t", "payload": {}, "after": [str(done), str(late)]}])
    parent = lasting.job_in(Status.RUNNING)
    (child,) = lasting.enqueue_many([{"task": "t", "payload": {}, "parent": str(parent)}])
    lasting.move(child["job_id"], Status.RUNNING)
    lasting.move(child["job_id"], Status.COMPLETED)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    lasting.move(parent, Status.COMPLETED)
    lasting.move(late, Status.CANCELLED)

    assert upkeep(lasting)["removed"] == 2


def test_retention_leaves_alone_what_is_retried_meanwhile(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400)
    failed = lasting.job_in(Status.FAILED)
    project(lasting)
    holdfast_db.clock.advance(5 * DAY)

    with meanwhile(holdfast_db) as (retrier, ask):
        retrier.execute("select holdfast.retry(%s)", [failed])
        removed = ask("select holdfast.apply_retention(100)")
        until_it_waits(holdfast_db, removed)
        retrier.commit()

        assert removed.result() == "[(0,)]"

    assert lasting.status(failed) is Status.FAILED


@pytest.mark.parametrize("tied_as", ["needed", "awaited", "retried"])
def test_retention_leaves_alone_what_somebody_ties_itself_to_while_it_looks(
    lasting: Machine, holdfast_db: ScratchDatabase, tied_as: str
) -> None:
    lasting.register("short", retention=86400)
    lasting.register("t")
    old = lasting.job_in(Status.FAILED if tied_as == "retried" else Status.COMPLETED, "short")
    lasting.enqueue()
    (claimed,) = lasting.claim(lasting.worker(lease=10**8))
    project(lasting)
    holdfast_db.clock.advance(5 * DAY)
    lasting.run("set lock_timeout = '5s'")

    with meanwhile(holdfast_db) as (holder, ask):
        # Of all that retention reads this is what no tie needs: it has begun to look, and gets no further.
        holder.execute("lock table holdfast.projection in access exclusive mode")
        removed = ask("select holdfast.apply_retention(100)")
        until_somebody_waits(holdfast_db)
        if tied_as == "needed":
            lasting.enqueue_many([{"task": "t", "payload": {}, "after": [str(old)]}])
        elif tied_as == "awaited":
            lasting.ask("wait_for_jobs", claimed, "wait_for", "", [old], None, None)
        else:
            lasting.value("select holdfast.retry(%s)", old)
        holder.commit()

        assert removed.result() == "[(0,)]"

    assert lasting.status(old).is_terminal


def compensation_of(machine: Machine, job_id: UUID) -> UUID:
    undoing: UUID = machine.value(
        "select id from holdfast.job where compensates = %s and finished_at is null", job_id
    )
    return undoing


def run_to(machine: Machine, job_id: UUID, status: Status) -> None:
    machine.move(job_id, Status.RUNNING)
    machine.move(job_id, status)


def test_retention_keeps_a_failed_compensation_while_a_retry_by_hand_waits_for_it(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400, options={"compensate": True})
    failed = lasting.job_in(Status.FAILED)
    undoing = compensation_of(lasting, failed)
    retry = lasting.value("select holdfast.retry(%s)", failed)
    run_to(lasting, undoing, Status.FAILED)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    again = lasting.value("select holdfast.retry(%s)", undoing)
    run_to(lasting, again, Status.COMPLETED)

    assert in_line(lasting) == {retry}


@pytest.mark.parametrize("tied_as", ["child", "awaited", "needed"])
def test_retention_keeps_what_a_compensation_that_can_be_retried_finds_again(
    lasting: Machine, holdfast_db: ScratchDatabase, tied_as: str
) -> None:
    lasting.register("t", options={"compensate": True})
    lasting.register("short", retention=86400)
    found = lasting.job_in(Status.COMPLETED, "short") if tied_as != "child" else None
    after = {"after": [str(found)]} if tied_as == "needed" else {}
    (born,) = lasting.enqueue_many([{"task": "t", "payload": {}, **after}])
    (claimed,) = lasting.claim(lasting.worker())
    if found is None:
        lasting.enqueue_many([{"task": "short", "payload": {}, "parent": str(born["job_id"])}])
        found = lasting.value("select id from holdfast.job where task = 'short'")
        run_to(lasting, found, Status.COMPLETED)
    elif tied_as == "awaited":
        lasting.ask("wait_for_jobs", claimed, "wait_for", "", [found], None, None)
    lasting.move(born["job_id"], Status.FAILED)

    undoing = compensation_of(lasting, born["job_id"])
    removed = []
    for status in (Status.FAILED, Status.COMPLETED):
        holdfast_db.clock.advance(5 * DAY)
        removed.append(upkeep(lasting)["removed"])
        run_to(lasting, undoing, status)
        holdfast_db.clock.advance(5 * DAY)
        removed.append(upkeep(lasting)["removed"])
        if status is Status.FAILED:
            undoing = lasting.value("select holdfast.retry(%s)", undoing)

    # What it ran after the job itself would read again: it has failed, and may be retried too.
    assert removed == [0, 0, 0, 0 if tied_as == "needed" else 1]


def test_retention_keeps_what_a_failed_job_ran_after_as_long_as_it_can_be_retried(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.register("t", retention=86400, options={"keep_failed": True})
    first, second = lasting.job_in(Status.COMPLETED), lasting.job_in(Status.COMPLETED)
    (born,) = lasting.enqueue_many([{"task": "t", "payload": {}, "after": [str(first), str(second)]}])
    run_to(lasting, born["job_id"], Status.FAILED)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    again = lasting.value("select holdfast.retry(%s)", born["job_id"])
    assert [row["id"] for row in lasting.rows("select id from holdfast.results_of(%s)", again)] == [
        first,
        second,
    ]
    run_to(lasting, again, Status.COMPLETED)
    holdfast_db.clock.advance(5 * DAY)

    assert upkeep(lasting)["removed"] == 2


def test_what_a_job_that_can_be_retried_ran_after_is_not_deleted(lasting: Machine) -> None:
    done = lasting.job_in(Status.COMPLETED)
    (born,) = lasting.enqueue_many([{"task": "t", "payload": {}, "after": [str(done)]}])
    run_to(lasting, born["job_id"], Status.FAILED)
    project(lasting)
    with lasting.refused("HF001", "can be retried"):
        lasting.value("select holdfast.delete_job(%s)", done)

    lasting.value("select holdfast.delete_job(%s)", born["job_id"])
    lasting.value("select holdfast.delete_job(%s)", done)

    assert lasting.count() == 0


@pytest.mark.parametrize("compensation", [False, True], ids=["job", "compensation"])
def test_what_was_retried_once_is_not_retried_again_when_retention_has_come_by(
    lasting: Machine, holdfast_db: ScratchDatabase, compensation: bool
) -> None:
    lasting.register("t", retention=86400, options={"keep_failed": True, "compensate": compensation})
    failed = lasting.job_in(Status.FAILED)
    if compensation:
        failed = compensation_of(lasting, failed)
        run_to(lasting, failed, Status.FAILED)
    run_to(lasting, lasting.value("select holdfast.retry(%s)", failed), Status.COMPLETED)
    holdfast_db.clock.advance(5 * DAY)

    upkeep(lasting)

    with lasting.refused("HF008", "already retried"):
        lasting.value("select holdfast.retry(%s)", failed)


def test_a_retry_goes_when_what_it_retries_has_gone(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", retention=86400)
    failed = lasting.job_in(Status.FAILED)
    run_to(lasting, lasting.value("select holdfast.retry(%s)", failed), Status.COMPLETED)
    holdfast_db.clock.advance(5 * DAY)

    removed = [upkeep(lasting)["removed"] for _ in range(2)]

    assert removed == [1, 1]


def awaited(machine: Machine) -> tuple[UUID, UUID, Row]:
    """Let an attempt wait for a job that has ended and one that has not, of a task that keeps nothing for long."""
    machine.register("short", retention=86400)
    done, late = machine.job_in(Status.COMPLETED, "short"), machine.enqueue("short")
    machine.enqueue()
    (claimed,) = machine.claim(machine.worker(lease=10**8))
    machine.ask("wait_for_jobs", claimed, "wait_for", "", [done, late], 86400.0 * 9, None)
    return done, late, claimed


def test_retention_keeps_what_a_job_waits_for_though_it_ended_before_the_wait(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    done, late, _ = awaited(lasting)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    run_to(lasting, late, Status.COMPLETED)
    (again,) = lasting.claim(lasting.worker())

    told = lasting.ask("wait_for_jobs", again, "wait_for", "", [done, late], None, None)
    assert (told["waits"], told["timed_out"]) == (False, False)


def test_retention_keeps_what_a_job_has_waited_for_as_long_as_it_may_read_it_again(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    done, late, _ = awaited(lasting)
    run_to(lasting, late, Status.COMPLETED)
    (again,) = lasting.claim(lasting.worker(lease=10**8))
    lasting.ask("wait_for_jobs", again, "wait_for", "", [done, late], None, None)
    lasting.ask("sleep_until", again, "sleep", "wait_for", 86400.0 * 7, None, None)
    holdfast_db.clock.advance(5 * DAY)
    assert upkeep(lasting)["removed"] == 0

    run_to(lasting, again["id"], Status.COMPLETED)

    assert upkeep(lasting)["removed"] == 2


def test_what_a_job_has_given_up_to_wait_for_is_not_kept_for_it(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    _, late, _ = awaited(lasting)
    holdfast_db.clock.advance(10 * DAY)
    admit(lasting)
    (again,) = lasting.claim(lasting.worker(lease=10**8))
    assert lasting.ask("wait_for_jobs", again, "wait_for", "", [late], None, None)["timed_out"]
    run_to(lasting, late, Status.COMPLETED)
    holdfast_db.clock.advance(5 * DAY)

    upkeep(lasting)

    assert not lasting.rows("select from holdfast.job where id = %s", late)


def test_an_event_is_kept_until_the_job_that_it_woke_has_taken_it(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    lasting.enqueue(tenant="acme")
    (waiting,) = lasting.claim(lasting.worker())
    lasting.ask("wait_for_event", waiting, "event go", "", "go", None, None)
    for tenant, payload in (("globex", "9"), ("acme", "1"), ("acme", "2")):
        lasting.value("select holdfast.emit('go', %s, %s)", payload, tenant)
    holdfast_db.clock.advance(31 * DAY)
    upkeep(lasting)

    (woken,) = lasting.claim(lasting.worker())
    told = lasting.ask("wait_for_event", woken, "event go", "", "go", None, None)

    assert (told["waits"], told["payload"]) == (False, "1")
    assert [row["tenant"] for row in lasting.rows("select tenant from holdfast.event")] == ["acme", "acme"]
    upkeep(lasting)
    assert lasting.count("holdfast.event") == 0


def test_retention_works_in_bounded_steps(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    lasting.register("t", retention=1)
    for _ in range(5):
        lasting.job_in(Status.COMPLETED)
    holdfast_db.clock.advance(DAY)
    project(lasting)

    removed = [lasting.one("select * from holdfast.upkeep(2)")["removed"] for _ in range(4)]

    assert removed == [2, 2, 1, 0]


def test_retention_does_not_leave_the_door_open_behind_it(machine: Machine) -> None:
    machine.job_in(Status.COMPLETED)
    upkeep(machine)

    with machine.refused("HF003", "jobs are kept"):
        machine.run("delete from holdfast.job")


def test_workers_long_gone_are_forgotten_and_living_ones_are_not(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    gone, living = lasting.worker(), lasting.worker()
    lasting.value("select holdfast.retire_worker(%s)", gone)
    holdfast_db.clock.advance(2 * DAY)

    assert upkeep(lasting)["forgotten"] == 1
    assert [row["id"] for row in lasting.rows("select id from holdfast.worker")] == [living]
