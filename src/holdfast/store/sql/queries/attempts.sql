-- What attempts left behind; of those that left nothing yet what was saved of their lines, or handed over with them.
with part as (
  select p.attempt, max(p.at) as at, max(p.worker) as worker, jsonb_agg(l.line order by p.first, l.place) as lines
    from holdfast.log_part p
    cross join lateral jsonb_array_elements(p.lines) with ordinality as l (line, place)
   where p.job_id = %(job_id)s and p.attempt > %(after)s
   group by p.attempt),
run as (
  select d.attempt, d.created_at as at, 'executor:' || d.executor as worker, d.logs
    from holdfast.dispatch d
   where d.job_id = %(job_id)s and d.attempt > %(after)s and d.logs is not null)
select n.attempt,
       coalesce(a.worker, r.worker, p.worker),
       coalesce(a.outcome,
                (select lower(h.to_status::text)
                   from holdfast.job_history h
                  where h.job_id = %(job_id)s and h.attempt = n.attempt and h.from_status = 'RUNNING'
                  order by h.seq desc
                  limit 1),
                'running'),
       coalesce(a.at, r.at, p.at), a.error, coalesce(a.logs, r.logs, p.lines),
       case when row_number() over (order by n.attempt) = 1 then holdfast.hidden_of(%(job_id)s) end
  from (select a.attempt from holdfast.attempt a where a.job_id = %(job_id)s and a.attempt > %(after)s
        union select p.attempt from part p
        union select r.attempt from run r) as n
  left join holdfast.attempt a on a.job_id = %(job_id)s and a.attempt = n.attempt
  left join part p on p.attempt = n.attempt
  left join run r on r.attempt = n.attempt
 order by n.attempt
 limit %(limit)s
