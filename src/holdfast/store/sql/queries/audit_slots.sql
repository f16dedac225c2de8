-- F04, times of schedules: what fired is decided for good, and no time fired for two jobs.
select 'F04' as code, r.job_id, format('schedule %%s ran for %%s, and may still come to that time: all up to %%s is decided', r.schedule, r.slot, s.settled_to) as what
  from holdfast.schedule_run r
  join holdfast.schedule s on s.name = r.schedule
 where r.slot > s.settled_to and r.outcome <> 'manual' and r.slot = date_trunc('second', r.slot)
union all
select 'F04', min(r.job_id::text)::uuid, format('schedule %%s has %%s runs for %%s', r.schedule, count(*), r.slot)
  from holdfast.schedule_run r
 group by r.schedule, r.slot
having count(*) > 1
union all
select 'F04', null, format('schedule %%s is decided up to %%s, which has not come yet', s.name, s.settled_to)
  from holdfast.schedule s
 where s.settled_to > holdfast.clock() + interval '1 minute'
