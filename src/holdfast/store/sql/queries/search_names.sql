-- Names for the search's completion, from the small tables that declare them; never from jobs.
(select 'task', t.name::text
   from holdfast.task t
  where not holdfast.is_own_task(t.name)
  order by t.name
  limit %(limit)s)
union all
(select 'queue', n.name
   from (select q.name::text from holdfast.queue q union select t.queue::text from holdfast.task t where not holdfast.is_own_task(t.name)) as n (name)
  order by n.name
  limit %(limit)s)
union all
-- From tenant to tenant along the index: what it costs depends on how many there are, not on how long they have been there.
(with recursive hop as (
   (select u.tenant from holdfast.usage u where u.tenant is not null order by u.tenant limit 1)
   union all
   select (select u.tenant from holdfast.usage u where u.tenant > h.tenant order by u.tenant limit 1) from hop h where h.tenant is not null)
 select 'tenant', h.tenant
   from hop h
  where h.tenant is not null
  limit %(limit)s)
union all
(select 'schedule', s.name::text
   from holdfast.schedule s
  order by s.name
  limit %(limit)s)
