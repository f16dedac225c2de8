-- What each name's panels depend on, as a value that changes with it. Small tables only, and the newest entry of an index.
select jsonb_build_object(
  'jobs', concat_ws(' ', (select max(h.xid) from holdfast.job_history h),
                    (select max(a.xid) from holdfast.activity a where a.kind in ('job.reprioritised', 'job.moved')),
                    (select max(a.id) from holdfast.audit a)),   -- which outlives a job that is deleted
  'logs', (select md5(string_agg(l.job_id::text || l.attempt || ' ' || l.first, ',' order by l.job_id, l.attempt, l.first))
             from (select p.job_id, p.attempt, p.first from holdfast.log_part p order by p.at desc limit 100) l),
  'figures', (select p.ran_at from holdfast.projection p),
  'queues', (select md5(string_agg(q::text, ',' order by q.name)) from holdfast.queue q),
  'workers', (select md5(string_agg(w.id::text || coalesce(w.stopped_at, w.died_at, 'infinity')::text || coalesce(w.wish, ''), ',' order by w.id)) from holdfast.worker w),
  'schedules', (select md5(string_agg(s::text, ',' order by s.name)) from holdfast.schedule s),
  'alerts', (select md5(string_agg(a.id::text || coalesce(a.closed_at::text, ''), ',' order by a.id)) from (select * from holdfast.alert order by id desc limit 50) a),
  'approvals', (select md5(string_agg(o.id::text || (select count(*) from holdfast.approval_decision d where d.approval_id = o.id), ',' order by o.id))
                  from (select a.id from holdfast.approval a where a.decided_at is null order by a.id desc limit 100) o),
  'settings', (select md5(string_agg(s.said, ',' order by s.said))
                 from (select f::text from holdfast.flag f union all select r::text from holdfast.alert_rule r) as s (said)))
