-- From the minutes alone: no job is looked at. The percentile is the geometric middle of the bucket it falls into.
with counts as (
  select case when %(by_task)s then s.task end as task, sum(s.enqueued) as enqueued, sum(s.started) as started, sum(s.completed) as completed,
         sum(s.failed) as failed, sum(s.cancelled) as cancelled, sum(s.retried) as retried, sum(s.undo_completed) as undo_completed, sum(s.undo_failed) as undo_failed,
         date_part('epoch', sum(s.waited)) / nullif(sum(s.waits), 0) as mean_wait, date_part('epoch', sum(s.ran)) / nullif(sum(s.runs), 0) as mean_run
    from holdfast.statistic s
   where s.minute >= date_bin('1 minute', %(since)s, '2000-01-01') and (%(task)s::text is null or s.task = %(task)s::text)
   group by 1),
buckets as materialized (
  select case when %(by_task)s then t.task end as task, t.what, t.bucket, sum(t.count) as n
    from holdfast.timing t
   where t.minute >= date_bin('1 minute', %(since)s, '2000-01-01') and (%(task)s::text is null or t.task = %(task)s::text)
   group by 1, t.what, t.bucket),
placed as (
  select b.task, b.what, b.bucket, sum(b.n) over w as upto, sum(b.n) over (partition by b.task, b.what) as n
    from buckets b
  window w as (partition by b.task, b.what order by b.bucket)),
percentiles as (
  select p.task, p.what, min(p.bucket) filter (where p.upto >= 0.5 * p.n) as p50, min(p.bucket) filter (where p.upto >= 0.95 * p.n) as p95
    from placed p
   where p.what <> 'retries'
   group by p.task, p.what)
select c.task, c.enqueued, c.started, c.completed, c.failed, c.cancelled, c.retried, c.undo_completed, c.undo_failed,
       c.mean_wait, holdfast.bucket_middle(wait.p50), holdfast.bucket_middle(wait.p95),
       c.mean_run, holdfast.bucket_middle(run.p50), holdfast.bucket_middle(run.p95),
       (select coalesce(jsonb_object_agg(b.bucket, b.n), '{}') from buckets b where b.what = 'retries' and b.task is not distinct from c.task)
  from counts c
  left join percentiles wait on wait.what = 'wait' and wait.task is not distinct from c.task
  left join percentiles run on run.what = 'run' and run.task is not distinct from c.task
 where c.enqueued is not null
 order by c.task nulls first
