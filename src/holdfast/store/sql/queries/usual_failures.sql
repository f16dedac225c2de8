-- How many jobs FAILED within the last quarter of an hour, and between which marks lie eight in ten of the quarters of the day before,
-- once there is an hour of them.
select coalesce(max(q.failed) filter (where q.ago = 0), 0)::bigint,
       case when max(q.ago) >= 4 then percentile_disc(0.1) within group (order by q.failed) filter (where q.ago > 0) end,
       case when max(q.ago) >= 4 then percentile_disc(0.9) within group (order by q.failed) filter (where q.ago > 0) end
  from (select a.ago, coalesce(f.failed, 0)::bigint as failed
          from generate_series(0, least(96, (select floor(extract(epoch from holdfast.clock() - min(s.minute)) / 900) from holdfast.statistic s))::int) as a (ago)
          left join (select floor(extract(epoch from holdfast.clock() - s.minute) / 900)::int as ago, sum(s.failed) as failed
                       from holdfast.statistic s
                      where s.minute > holdfast.clock() - 97 * interval '15 minutes' and s.failed > 0
                      group by 1) as f on f.ago = a.ago) as q
