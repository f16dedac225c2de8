select w.id, w.name, w.host, w.pid, w.version, w.queues, w.tasks, w.lease, w.started_at, w.seen_at, w.clock_skew, w.stopped_at, w.died_at,
       w.wish, w.wished_at, w.wished_by, w.wished_for,
       (select count(*) from (select from holdfast.job j where j.holder = w.id limit %(cap)s) as c),
       holdfast.clock()
  from holdfast.worker w
 order by w.died_at is not null, w.started_at desc
 limit %(limit)s
