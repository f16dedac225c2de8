-- Schedules with what became of their newest time, all of them or one.
select s.name, s.task, s.payload, s.options, s.cron, s.every, s.tz, s.anchor, s.missed, s.overlap, s.declared,
       nullif(s.next_at, 'infinity'), s.settled_to, s.paused_at, s.paused_by, s.reason, s.withdrawn_at,
       exists (select from holdfast.worker w
                where w.died_at is null and w.seen_at + w.lease >= holdfast.clock() and s.task = any (w.tasks)),
       newest.last_slot, newest.outcome, newest.job_id, holdfast.clock(),
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', s.payload) from holdfast.task t where t.name = s.task and t.options ? 'redact')
  from holdfast.schedule s
  left join lateral (select r.last_slot, r.outcome, r.job_id
                       from holdfast.schedule_run r
                      where r.schedule = s.name
                      order by r.slot desc
                      limit 1) as newest on true
 where %(schedule)s::text is null or s.name = %(schedule)s
 order by s.name
 limit %(limit)s
