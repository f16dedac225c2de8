-- Executors with runs that have been silent for half of what they may be, and since when the quietest of them has. The oldest
-- thousand runs are enough to know.
select d.executor::text, count(*), min(d.heard_at)
  from (select r.executor, r.heartbeat_limit, coalesce(r.seen_at, r.sent_at, r.created_at) as heard_at
          from holdfast.dispatch r
         where r.state = 'sent'
         order by r.job_id
         limit 1000) as d
 where d.heard_at < holdfast.clock() - greatest(d.heartbeat_limit / 2, interval '2 minutes')
 group by d.executor
 order by d.executor
