-- What each name's panels depend on, as a value that changes with it. Small tables only, and the newest entry of an index.
select jsonb_build_object(
  'jobs', (select max(h.xid) from holdfast.job_history h),
  'figures', (select p.ran_at from holdfast.projection p),
  'queues', (select md5(string_agg(q::text, ',' order by q.name)) from holdfast.queue q),
  'workers', (select md5(string_agg(w.id::text || coalesce(w.stopped_at, w.died_at, 'infinity')::text, ',' order by w.id)) from holdfast.worker w),
  'schedules', (select md5(string_agg(s::text, ',' order by s.name)) from holdfast.schedule s),
  'alerts', (select md5(string_agg(a.id::text || coalesce(a.closed_at::text, ''), ',' order by a.id)) from (select * from holdfast.alert order by id desc limit 50) a),
  'settings', (select md5(string_agg(f::text, ',' order by f.name)) from holdfast.flag f))
