select t.name, t.queue, t.options, paused.at, paused.by, paused.reason, paused.resume_at,
       (select count(*) from holdfast.worker w
         where w.died_at is null and w.seen_at + w.lease >= holdfast.clock() and t.name = any (w.tasks)),
       holdfast.clock(), t.retention
  from holdfast.task t
  left join lateral (select t.paused_at as at, coalesce(t.paused_by, '?') as by, t.pause_reason as reason, t.resume_at
                      where t.paused_at is not null and (t.resume_at is null or t.resume_at > holdfast.clock())) as paused on true
 where %(own)s::boolean or not holdfast.is_own_task(t.name)
 order by t.name
