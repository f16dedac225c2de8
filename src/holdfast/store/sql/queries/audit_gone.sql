-- Jobs that are not there any more, of some.
select k.job_id
  from unnest(%(jobs)s::uuid[]) as k (job_id)
 where not exists (select from holdfast.job j where j.id = k.job_id)
 order by k.job_id
