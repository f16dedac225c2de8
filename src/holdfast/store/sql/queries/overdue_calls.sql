-- A call that is being made is due again only when its lease ends: what is overdue for this long is made by nobody.
select d.executor::text, count(*), min(d.next_try_at), holdfast.clock()
  from (select o.executor, o.next_try_at
          from holdfast.dispatch o
         where o.next_try_at < holdfast.clock() - interval '2 minutes'
         order by o.next_try_at
         limit 1000) as d
 group by d.executor
 order by d.executor
