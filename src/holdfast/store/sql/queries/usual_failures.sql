-- How many jobs FAILED within the last quarter of an hour, and between which marks lie eight in ten of the quarters of the day before,
-- once there is an hour of them. A quarter is a range with two ends: without the other one the planner would read all minutes.
with clock as materialized (
  select holdfast.clock() as now),
quarters as (
  select a.ago, coalesce(f.failed, 0)::bigint as failed
    from clock,
         generate_series(0, least(96, floor(date_part('epoch', clock.now - (select min(s.minute) from holdfast.statistic s)) / 900))::int) as a (ago)
   cross join lateral (select sum(s.failed) as failed
                         from holdfast.statistic s
                        where s.minute > clock.now - (a.ago + 1) * interval '15 minutes' and s.minute <= clock.now - a.ago * interval '15 minutes') as f)
select coalesce(max(q.failed) filter (where q.ago = 0), 0)::bigint,
       case when max(q.ago) >= 4 then percentile_disc(0.1) within group (order by q.failed) filter (where q.ago > 0) end,
       case when max(q.ago) >= 4 then percentile_disc(0.9) within group (order by q.failed) filter (where q.ago > 0) end
  from quarters q
