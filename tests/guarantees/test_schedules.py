"""Every time of a schedule becomes one job or one word that it was missed, wherever the workers that fire it are killed."""

from collections import Counter
from datetime import timedelta

from guarantees import shop as tasks
from guarantees.conftest import Stage
from guarantees.waiting import until
from holdfast import Holdfast

# Three schedules are due at every start of a worker: the times of each are counted, settled and, last, run.
POINTS = [
    *(f"schedule_due:{n}" for n in (1, 2, 3)),
    *(f"schedule_fired:{n}" for n in (1, 2, 3)),
    "claimed:1",
    "ran:1",
    "finished:1",
]
HOUR = timedelta(hours=1)
HOURS_AWAY = 4


def test_no_time_of_a_schedule_is_lost_or_fires_twice_wherever_workers_are_killed(
    stage: Stage, shop: Holdfast
) -> None:
    for policy in ("all", "one", "skip"):
        shop.schedules.create(policy, tasks.note, every=HOUR, missed=policy, payload={"n": 1})
    stage.database.clock.advance(HOUR / 2)  # so that the newest time is never of this minute
    by_hand = []
    for point in POINTS:
        stage.database.clock.advance(HOURS_AWAY * HOUR)
        by_hand.append(shop.schedules.run_now("skip"))
        stage.kill_at(point)

    stage.worker_after_kills()
    until(
        lambda: f"all is done\n{stage.told}",
        lambda: stage.value(_ALL_SETTLED) and set(stage.counts()) == {"COMPLETED"},
    )

    times = HOURS_AWAY * len(POINTS)
    # Six workers lived until "one" was settled: each let one time stand for all that it found.
    assert stage.rows(_TIMES) == [("all", times, times), ("one", times, 6), ("skip", times, 0)]
    assert stage.rows(_DECIDED_TWICE) == stage.rows(_WITHOUT_JOB) == []
    assert stage.rows("select job_id from holdfast.schedule_run where outcome = 'manual' order by slot") == [
        (handle.id,) for handle in by_hand
    ]
    # A job runs once more for each worker that died with it, and no more.
    died = Counter(
        job
        for (job,) in stage.rows("select job_id::text from holdfast.job_history where to_status = 'RETRY'")
    )
    ends = Counter(one["job"] for one in stage.ledger("end"))
    assert {job for job, number in ends.items() if number > 1 + died[job]} == set()
    stage.audit()


_ALL_SETTLED = "select bool_and(next_at > holdfast.clock()) from holdfast.schedule"
# How many times were decided about, and how many of them fired.
_TIMES = """
select r.schedule, sum(r.times)::int, count(*) filter (where r.outcome = 'fired')::int
  from holdfast.schedule_run r
 where r.outcome <> 'manual'
 group by 1
 order by 1
"""
_DECIDED_TWICE = """
select a.schedule, a.slot
  from holdfast.schedule_run a
  join holdfast.schedule_run b on b.schedule = a.schedule and b.slot > a.slot and b.slot <= a.last_slot and b.outcome <> 'manual'
 where a.outcome <> 'manual'
"""
_WITHOUT_JOB = """
select r.job_id, j.id
  from (select * from holdfast.schedule_run r where r.outcome in ('fired', 'manual')) as r
  full join holdfast.job j on j.id = r.job_id and j.metadata ->> 'schedule' = r.schedule
 where r.job_id is null or j.id is null
"""
