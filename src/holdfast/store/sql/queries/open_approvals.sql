-- How many people's decisions are waited for, up to a cap, and since when.
select count(*), min(o.asked_at)
  from (select a.asked_at
          from holdfast.approval a
         where a.decided_at is null
         order by a.id
         limit %(cap)s) as o
