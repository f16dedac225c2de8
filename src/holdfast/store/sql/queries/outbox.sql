-- Counts stop at a thousand; the index has only what was not delivered.
with stuck as materialized (
  select n.state, n.created_at
    from holdfast.notification n
   where n.state in ('waiting', 'failed')
   order by n.created_at
   limit 1000)
select (select count(*) from stuck s where s.state = 'failed'),
       (select count(*) from stuck s where s.state = 'waiting' and s.created_at < holdfast.clock() - interval '10 minutes'),
       (select min(s.created_at) from stuck s),
       array(select r.name::text from holdfast.alert_rule r
              where r.enabled and not exists (select from holdfast.alert_channel c where c.name = any (r.channels))
              order by r.name),
       holdfast.clock()
