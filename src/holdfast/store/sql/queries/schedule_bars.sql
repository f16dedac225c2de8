-- The newest times of each of these schedules, with what became of their jobs, as far as those are kept.
select r.schedule::text, r.slot, r.times, r.outcome, r.job_id, j.status, j.started_at, j.finished_at
  from unnest(%(schedules)s::text[]) as wanted (name)
 cross join lateral (select s.schedule, s.slot, s.times, s.outcome, s.job_id
                       from holdfast.schedule_run s
                      where s.schedule = wanted.name
                      order by s.slot desc
                      limit %(limit)s) as r
  left join holdfast.job j on j.id = r.job_id
 order by r.schedule, r.slot
