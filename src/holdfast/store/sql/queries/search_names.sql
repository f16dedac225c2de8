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
