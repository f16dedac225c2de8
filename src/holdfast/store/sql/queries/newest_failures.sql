-- The newest jobs that FAILED, no more than a bound, of which those are given that ended within the window.
select f.task, f.type, f.message, f.finished_at,
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', f.payload) from holdfast.task t where t.name = f.task and t.options ? 'redact')
  from (select j.task::text, coalesce(j.error ->> 'type', '?') as type, left(coalesce(j.error ->> 'message', ''), 300) as message, j.finished_at, j.payload
          from holdfast.job j
         where j.status = 'FAILED' and j.status <> 'RUNNING'
         order by j.id desc
         limit %(limit)s) as f
 where f.finished_at >= %(first)s::timestamptz and f.finished_at < %(last)s::timestamptz
