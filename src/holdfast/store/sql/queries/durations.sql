select d.queue, d.task, d.what, d.bucket, d.count, d.seconds::float8
  from holdfast.duration d
 order by d.queue, d.task, d.what, d.bucket
