-- Capped, along the index that claims use.
select count(*)
  from (select
          from holdfast.job j
         where j.queue = any (%(queues)s) and j.claim_order is not null and not j.suspect
         limit %(cap)s) as c
