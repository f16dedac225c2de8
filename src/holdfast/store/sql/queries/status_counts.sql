-- Capped: a count over millions of rows tells nobody more than "10,000+" does. RUNNING rows have an index of their own.
select s.status::text,
       case when s.status = 'RUNNING'
            then (select count(*) from (select from holdfast.job j where j.holder is not null limit %(cap)s) as c)
            else (select count(*) from (select from holdfast.job j
                                         where j.status = s.status and j.status <> 'RUNNING' limit %(cap)s) as c)
       end
  from unnest(enum_range(null::holdfast.job_status)) as s (status)
