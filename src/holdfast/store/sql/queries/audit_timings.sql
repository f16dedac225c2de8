-- G07, histograms: as many are in the buckets as in the minutes.
select 'G07' as code, null::uuid as job_id, format('task %%s, %%s: %%s runs and %%s waits are in the minutes, %%s and %%s in the histogram', task,
         minute at time zone 'UTC', coalesce(s.runs, 0), coalesce(s.waits, 0), coalesce(t.runs, 0), coalesce(t.waits, 0)) as what
  from (select x.minute, x.task, sum(x.runs) as runs, sum(x.waits) as waits from holdfast.statistic x group by 1, 2) as s
  full join (select x.minute, x.task, coalesce(sum(x.count) filter (where x.what = 'run'), 0) as runs, coalesce(sum(x.count) filter (where x.what = 'wait'), 0) as waits
               from holdfast.timing x
              group by 1, 2) as t using (minute, task)
 where (coalesce(s.runs, 0), coalesce(s.waits, 0)) <> (coalesce(t.runs, 0), coalesce(t.waits, 0))
union all
-- As of events (audit_channels.sql).
select 'G06', null, format('statistics are to be kept for %%s (statistics_kept of holdfast.projection), which is no time that anything can be kept for', p.statistics_kept)
  from holdfast.projection p
 where p.statistics_kept not between interval '0' and interval '6000 years'
