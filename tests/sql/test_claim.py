"""Claim: at most what was asked for, in order, by a living worker, from the one index."""

from uuid import UUID, uuid4

import pytest

from holdfast.domain.states import Status
from holdfast.testing import ScratchDatabase
from sql.plans import each_plan
from sql.support import Machine, machine_on


def fill(machine: Machine, number: int) -> None:
    machine.rows(
        "select holdfast.enqueue_many((select jsonb_agg(jsonb_build_object('task', 't', 'payload', '{}'::jsonb)) from generate_series(1, %s)))",
        number,
    )


# -- how many --------------------------------------------------------------------------------------------------------------


def test_claims_take_at_most_their_limits_under_every_join_plan(machine: Machine) -> None:
    fill(machine, 30)
    worker = machine.worker()

    taken = {
        (
            len(machine.claim(worker, 1)),
            len(machine.claim(worker, 7)),
            machine.value("select count(*) from holdfast.job where status = 'RUNNING'"),
        )
        for _ in each_plan(machine.connection, "enable_memoize")
    }

    assert taken == {(1, 7, 8)}


@pytest.mark.parametrize("cache", ["auto", "force_generic_plan", "force_custom_plan"])
def test_a_claim_takes_at_most_its_limit_with_statistics_of_an_empty_table(
    lasting: Machine, cache: str
) -> None:
    lasting.run("alter table holdfast.job set (autovacuum_enabled = off)")
    lasting.run("analyze holdfast.job")
    lasting.run(f"set plan_cache_mode = {cache}")
    worker = lasting.worker()
    lasting.claim(worker, 1)
    fill(lasting, 5_000)

    numbers = [len(lasting.claim(worker, 10)) for _ in range(12)]

    assert numbers == [10] * 12
    assert lasting.value("select count(*) from holdfast.job where status = 'RUNNING'") == 120


def test_a_claim_of_nothing_takes_nothing(machine: Machine) -> None:
    fill(machine, 3)

    assert machine.claim(machine.worker(), 0) == []


def test_workers_claim_different_jobs(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    fill(lasting, 20)
    with machine_on(holdfast_db.owner_url) as other, other.connection.transaction():
        first = other.claim(other.worker(), 12)

        second = lasting.claim(lasting.worker(), 12)

    assert len({row["id"] for row in [*first, *second]}) == len(first) + len(second) == 20


# -- which -----------------------------------------------------------------------------------------------------------------


def test_jobs_are_claimed_in_the_order_of_the_line(machine: Machine) -> None:
    worker = machine.worker()
    ids = [machine.enqueue() for _ in range(5)]

    assert [machine.claim(worker, 1)[0]["id"] for _ in ids] == ids


def test_a_job_with_priority_goes_before_older_ones_within_its_head_start(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    worker = lasting.worker()
    oldest = lasting.enqueue()
    holdfast_db.clock.advance(40 * 60)
    older = lasting.enqueue()
    holdfast_db.clock.advance(30 * 60)
    urgent, patient = lasting.enqueue(priority=100), lasting.enqueue(priority=-100)
    plain = lasting.enqueue()

    order = [lasting.claim(worker, 1)[0]["id"] for _ in range(5)]

    assert order == [oldest, urgent, older, plain, patient]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PENDING])
def test_only_what_is_in_the_line_is_claimed(machine: Machine, status: Status) -> None:
    machine.job_in(status)

    assert machine.claim(machine.worker()) == []


def test_a_claim_asks_only_for_its_own_tasks_and_queue(machine: Machine) -> None:
    machine.register("u")
    mine = machine.enqueue()
    machine.enqueue("u")
    machine.enqueue(queue="mail")

    assert [row["id"] for row in machine.claim(machine.worker())] == [mine]


def test_a_claim_can_begin_behind_what_is_already_dead(machine: Machine) -> None:
    worker = machine.worker()
    first, second = machine.enqueue(), machine.enqueue()
    after = machine.job(second)["claim_order"]

    claimed = machine.rows(
        "select * from holdfast.claim(%s, %s, 'default', '{t}', 10, %s)", worker, uuid4(), after
    )

    assert [row["id"] for row in claimed] == [second]
    assert machine.status(first) is Status.PENDING


# -- what a claim writes ---------------------------------------------------------------------------------------------------


def test_a_claimed_job_is_held_by_its_worker_under_the_claims_fence(each_machine: Machine) -> None:
    worker, job_id = each_machine.worker("w-1"), each_machine.enqueue(payload={"a": 1}, tenant="acme")

    (claimed,) = each_machine.claim(worker)

    job = each_machine.job(job_id)
    assert (job["status"], job["holder"], job["claim_id"], job["attempt"]) == (
        "RUNNING",
        worker,
        claimed["claim_id"],
        1,
    )
    assert (claimed["id"], claimed["attempt"], claimed["payload"], claimed["tenant"]) == (
        job_id,
        1,
        '{"a": 1}',
        "acme",
    )
    assert each_machine.history(job_id)[-1]["actor"] == "w-1"


def test_a_timeout_becomes_a_deadline(machine: Machine) -> None:
    machine.register("t", timeout=60)
    job_id = machine.enqueue()

    machine.claim(machine.worker())

    job = machine.job(job_id)
    assert 60 < (job["deadline_at"] - job["updated_at"]).total_seconds() <= 75


def test_a_claim_whose_answer_was_lost_can_be_asked_for_again(machine: Machine) -> None:
    worker = machine.worker()
    fill(machine, 3)
    claimed = machine.claim(worker, 2)

    again = machine.rows("select * from holdfast.recover_claim(%s, %s)", worker, claimed[0]["claim_id"])

    assert {row["id"] for row in again} == {row["id"] for row in claimed}


def test_a_claim_is_not_shown_to_another_worker(machine: Machine) -> None:
    fill(machine, 1)
    (claimed,) = machine.claim(machine.worker())

    assert (
        machine.rows("select * from holdfast.recover_claim(%s, %s)", machine.worker(), claimed["claim_id"])
        == []
    )


# -- who -------------------------------------------------------------------------------------------------------------------


def silent(machine: Machine) -> UUID:
    worker = machine.worker()
    machine.fall_silent(worker)
    machine.sweep()
    return worker


def retired(machine: Machine) -> UUID:
    worker = machine.worker()
    machine.value("select holdfast.retire_worker(%s)", worker)
    return worker


@pytest.mark.parametrize("who", [silent, retired, lambda _: uuid4()], ids=["silent", "retired", "unknown"])
@pytest.mark.parametrize("function", ["claim", "claim_suspect"])
def test_a_worker_that_does_not_live_claims_nothing(machine: Machine, who: object, function: str) -> None:
    fill(machine, 1)
    worker = who(machine)  # type: ignore[operator]  # a function of the list above

    with machine.refused("HF002", f"worker {worker}"):
        getattr(machine, function)(worker)


def test_registering_again_does_not_bring_a_dead_worker_back(machine: Machine) -> None:
    worker = retired(machine)

    machine.value(
        "select holdfast.register_worker(%s, 'w', 'host', 1, '0', '{}', '{t}', interval '30 s', clock_timestamp())",
        worker,
    )

    with machine.refused("HF002"):
        machine.claim(worker)


# -- pauses ----------------------------------------------------------------------------------------------------------------


def test_a_paused_queue_gives_nothing_until_it_is_resumed(app_login: Machine) -> None:
    worker, job_id = app_login.worker(), app_login.enqueue()
    app_login.value("select holdfast.pause_queue('default', 'ann', 'a reason')")
    paused = app_login.claim(worker)

    was_paused = app_login.value("select holdfast.resume_queue('default')")

    assert (paused, was_paused) == ([], True)
    assert [row["id"] for row in app_login.claim(worker)] == [job_id]


def test_a_pause_ends_by_itself_at_its_time(app_login: Machine, holdfast_db: ScratchDatabase) -> None:
    worker, job_id = app_login.worker(), app_login.enqueue()
    app_login.value("select holdfast.pause_queue('default', p_resume_in => interval '1 minute')")
    paused = app_login.claim(worker)

    holdfast_db.clock.advance(61)

    assert paused == []
    assert [row["id"] for row in app_login.claim(worker)] == [job_id]


def test_a_pause_of_one_queue_is_none_of_another(app_login: Machine) -> None:
    worker, job_id = app_login.worker(), app_login.enqueue(queue="mail")
    app_login.value("select holdfast.pause_queue('default')")

    assert [row["id"] for row in app_login.claim(worker, queue="mail")] == [job_id]


def test_a_paused_queue_gives_no_suspects_either(machine: Machine) -> None:
    job_id = suspect(machine)
    machine.value("select holdfast.pause_queue('default')")

    assert machine.claim_suspect(machine.worker()) == []
    assert machine.status(job_id) is Status.RETRY


# -- suspects --------------------------------------------------------------------------------------------------------------


def suspect(machine: Machine) -> UUID:
    """Make a job that a worker died with."""
    worker, job_id = machine.worker(), machine.enqueue()
    machine.claim(worker)
    machine.fall_silent(worker)
    machine.sweep()
    return job_id


def test_a_suspect_is_not_claimed_among_others(machine: Machine) -> None:
    suspect(machine)
    innocent = machine.enqueue()

    assert [row["id"] for row in machine.claim(machine.worker())] == [innocent]


def test_suspects_are_claimed_one_at_a_time(machine: Machine) -> None:
    first, second = suspect(machine), suspect(machine)
    worker = machine.worker()

    claims = [[row["id"] for row in machine.claim_suspect(worker)] for _ in range(3)]

    assert claims == [[first], [second], []]


def test_an_innocent_job_is_no_suspect(machine: Machine) -> None:
    machine.enqueue()

    assert machine.claim_suspect(machine.worker()) == []


# -- due -------------------------------------------------------------------------------------------------------------------


def test_what_is_due_enters_the_line_and_what_is_not_waits(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    soon, later = lasting.enqueue(run_in="1 minute"), lasting.enqueue(run_in="1 hour")
    holdfast_db.clock.advance(120)

    answer = lasting.one("select * from holdfast.admit_due(100)")

    assert answer["admitted"] == 1
    assert 3400 < answer["next_in"] < 3500
    assert [row["id"] for row in lasting.claim(lasting.worker())] == [soon]
    assert lasting.job(later)["claim_order"] is None


def test_a_job_that_was_due_long_ago_goes_first(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    delayed = lasting.enqueue(run_in="1 minute")
    holdfast_db.clock.advance(120)
    fresh = lasting.enqueue()
    lasting.one("select * from holdfast.admit_due(100)")

    assert [lasting.claim(lasting.worker(), 1)[0]["id"] for _ in range(2)] == [delayed, fresh]


def test_what_is_due_is_admitted_in_bounded_steps(lasting: Machine, holdfast_db: ScratchDatabase) -> None:
    for _ in range(5):
        lasting.enqueue(run_in="1 minute")
    holdfast_db.clock.advance(120)

    assert [lasting.one("select * from holdfast.admit_due(2)")["admitted"] for _ in range(4)] == [2, 2, 1, 0]


# -- plans -----------------------------------------------------------------------------------------------------------------

# As in claim(), with its settings; a test below compares the two.
INNER = """
    select line.id, line.claim_order
      from unnest({tenants}, {heads}, {shares}) as t (name, head, share)
     cross join lateral (
       select j.id, j.claim_order
         from holdfast.job j
        where j.queue = {queue} and coalesce(j.tenant, '') = t.name and j.claim_order >= t.head and not j.suspect and j.task = any ({tasks})
          and (not {needs_slots} or holdfast.has_slot(j.id, 'queue:' || {queue}))
        order by j.claim_order, j.id
        limit t.share
          for no key update skip locked) as line
     limit {limit}"""


def test_the_query_whose_plan_is_tested_is_the_one_that_claims(machine: Machine) -> None:
    body = machine.value(
        "select prosrc from pg_proc where proname = 'claim' and pronamespace = 'holdfast'::regnamespace"
    )

    inner = INNER.format(
        queue="p_queue",
        tenants="v_tenants",
        heads="v_heads",
        shares="v_shares",
        tasks="p_tasks",
        needs_slots="v_needs_slots",
        limit="v_left",
    )
    assert " ".join(inner.split()) in " ".join(body.split())


def claim_plan(machine: Machine) -> str:
    settings = machine.value(
        "select proconfig from pg_proc where proname = 'claim' and pronamespace = 'holdfast'::regnamespace"
    )
    for setting in settings:
        name, value = setting.split("=")
        machine.value("select set_config(%s, %s, true)", name, value)
    machine.run("deallocate all")
    machine.run(
        "prepare line (text[], timestamptz[], int[], text, text[], int, boolean) as "
        + INNER.format(
            tenants="$1", heads="$2", shares="$3", queue="$4", tasks="$5", limit="$6", needs_slots="$7"
        )
    )
    query = "execute line ('{\"\"}', '{-infinity}', '{100}', 'default', '{t}', 100, false)"
    return "\n".join(row["QUERY PLAN"] for row in machine.rows(f"explain {query}"))


# Past the guards and without history: what counts here is how many rows of which kind there are.
LOAD = """
insert into holdfast.job (task, status, seq, attempt, finished_at, claim_order)
select 't', case when n <= %(finished)s::int then 'COMPLETED' else 'PENDING' end::holdfast.job_status, 1, 0,
       case when n <= %(finished)s::int then clock_timestamp() end, case when n > %(finished)s::int then clock_timestamp() end
  from generate_series(1, %(finished)s::int + %(pending)s::int) as n
"""


@pytest.mark.parametrize(
    ("finished", "pending"), [(0, 0), (0, 10), (10, 0), (10_000, 10), (0, 10_000), (5_000, 5_000)]
)
@pytest.mark.parametrize("statistics", ["fresh", "of an empty table"])
def test_the_claim_walks_its_index_whatever_the_table_holds(
    machine: Machine, finished: int, pending: int, statistics: str
) -> None:
    machine.run("analyze holdfast.job")
    machine.run("alter table holdfast.job disable trigger user")
    machine.connection.execute(LOAD, {"finished": finished, "pending": pending})
    if statistics == "fresh":
        machine.run("analyze holdfast.job")

    plan = claim_plan(machine)

    assert "Index Scan using job_in_line" in plan
    assert "Sort" not in plan


def test_a_function_that_forbids_plans_compiles_none(machine: Machine) -> None:
    careless = machine.rows(
        """
        select p.proname
          from pg_proc p
         where p.pronamespace = 'holdfast'::regnamespace and p.proconfig::text like '%enable_%=off%'
           and not 'jit=off' = any (p.proconfig)
        """
    )

    assert careless == []  # what has no other plan costs 10^10 until PostgreSQL 17, and a second to compile
