-- F04, schedules: a time of a schedule is one run, and a run that fired is the job that says so. Runs are known for ninety days.
-- Any producer may say that a schedule asked for its job, with any text for the time: it is taken apart, because a cast would end the audit.
with j as materialized (
  select b.id::uuid as id, b.metadata ->> 'schedule' as schedule, b.metadata ->> 'slot' as said,
         (timestamp '2000-01-01' + make_interval(p.of[1] - 2000, p.of[2] - 1, 0, p.of[3] - 1, p.of[4], p.of[5], p.of[6])) at time zone 'UTC' as slot
    from holdfast.job b
    cross join lateral (
      select regexp_match(b.metadata ->> 'slot', '^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})[+]00:00$')::int[] as of) as p
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid and b.requested_by = 'schedule:' || (b.metadata ->> 'schedule')
     and b.metadata ? 'slot' and b.retry_of is null and b.compensates is null and b.created_at > holdfast.clock() - interval '89 days')
select 'F04' as code, j.id as job_id, format('schedule %%s made it for %%s, and no run of that time says so', j.schedule, j.said) as what
  from j
 where not exists (select from holdfast.schedule_run r where r.schedule = j.schedule and r.slot = j.slot and r.job_id = j.id and r.outcome = 'fired')
