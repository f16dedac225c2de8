-- Types as far as they are names of classes: outside runs send what they like. Of the newest jobs that ended: how many within the window FAILED or COMPLETED, and the errors' types by frequency.
with failed as materialized (
  select f.type
    from (select coalesce(substring(j.error ->> 'type' from '^[A-Za-z_][A-Za-z0-9_.]{0,99}$'), '?') as type, j.finished_at
            from holdfast.job j
           where j.status = 'FAILED' and j.status <> 'RUNNING'
           order by j.id desc
           limit 1000) as f
   where f.finished_at > holdfast.clock() - %(window)s::interval)
select (select count(*) from failed),
       (select count(*)
          from (select j.finished_at
                  from holdfast.job j
                 where j.status = 'COMPLETED' and j.status <> 'RUNNING'
                 order by j.id desc
                 limit 1000) as c
         where c.finished_at > holdfast.clock() - %(window)s::interval),
       (select f.type from failed f group by f.type order by count(*) desc, f.type limit 1)
