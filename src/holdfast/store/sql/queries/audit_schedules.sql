-- F04, schedules: a time of a schedule is one run, and a run that fired is the job that says so. Runs are known for ninety days.
with j as materialized (
  select b.id::uuid as id, b.metadata ->> 'schedule' as schedule, (b.metadata ->> 'slot')::timestamptz as slot
    from holdfast.job b
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid and b.requested_by = 'schedule:' || (b.metadata ->> 'schedule')
     and b.metadata ? 'slot' and b.retry_of is null and b.compensates is null and b.created_at > holdfast.clock() - interval '89 days')
select 'F04' as code, j.id as job_id, format('schedule %%s made it for %%s, and no run of that time says so', j.schedule, j.slot) as what
  from j
 where not exists (select from holdfast.schedule_run r where r.schedule = j.schedule and r.slot = j.slot and r.job_id = j.id and r.outcome = 'fired')
