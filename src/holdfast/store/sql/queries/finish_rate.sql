-- Of the newest completed jobs: how many ended within the last seconds.
select count(*)
  from (select j.finished_at
          from holdfast.job j
         where j.status = 'COMPLETED' and j.status <> 'RUNNING'
         order by j.id desc
         limit 5000) as newest
 where newest.finished_at > holdfast.clock() - make_interval(secs => %(seconds)s)
