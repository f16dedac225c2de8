-- Capped: jobs that run are few, and found by who holds them.
select r.tenant, count(*)
  from (select j.tenant from holdfast.job j where j.holder is not null limit %(cap)s) as r
 group by r.tenant
