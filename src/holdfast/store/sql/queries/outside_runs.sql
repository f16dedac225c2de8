-- Attempts that were handed to outside executors, those of the newest jobs first.
select d.job_id, d.attempt, j.task::text, d.executor::text, d.state, d.tries, d.created_at, d.sent_at, d.started_at, d.seen_at, d.over_at, d.run_id, d.run_url,
       d.error ->> 'message', d.cancelled_at,
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact')
  from holdfast.dispatch d
  join holdfast.job j on j.id = d.job_id
 where (d.job_id, d.attempt) < (%(job_id)s::uuid, %(attempt)s::int)
 order by d.job_id desc, d.attempt desc
 limit %(limit)s
