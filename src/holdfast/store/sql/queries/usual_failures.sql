-- How many jobs FAILED within the last quarter of an hour, and between which marks lie eight in ten of the quarters of the day before,
-- once there is an hour of them.
with clock as materialized (
  select holdfast.clock() as now),
failed as (
  select floor(date_part('epoch', clock.now - s.minute) / 900)::int as ago, sum(s.failed) as failed
    from clock, holdfast.statistic s
   where s.minute > clock.now - 97 * interval '15 minutes' and s.failed > 0
   group by 1),
quarters as (
  select a.ago, coalesce(f.failed, 0)::bigint as failed
    from clock,
         generate_series(0, least(96, floor(date_part('epoch', clock.now - (select min(s.minute) from holdfast.statistic s)) / 900))::int) as a (ago)
    left join failed f on f.ago = a.ago)
select coalesce(max(q.failed) filter (where q.ago = 0), 0)::bigint,
       case when max(q.ago) >= 4 then percentile_disc(0.1) within group (order by q.failed) filter (where q.ago > 0) end,
       case when max(q.ago) >= 4 then percentile_disc(0.9) within group (order by q.failed) filter (where q.ago > 0) end
  from quarters q
