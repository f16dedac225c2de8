-- Some of the jobs that each of these workers runs.
select j.holder, j.id, j.task, j.label, holdfast.clock() - j.updated_at
  from unnest(%(workers)s::uuid[]) as w (id)
  cross join lateral (
    select h.holder, h.id, h.task, h.label, h.updated_at
      from holdfast.job h
     where h.holder = w.id
     limit %(each)s) as j
 order by j.updated_at
