-- Flags that were set, and those that only tasks name: they are on.
with named as (
  select f.name::text from holdfast.flag f
  union
  select t.options ->> 'flag' from holdfast.task t where t.options ? 'flag')
select n.name, coalesce(f.enabled, true), coalesce(f.percent, 100::smallint), f.set_by, f.reason, f.at,
       array(select t.name::text from holdfast.task t where t.options ->> 'flag' = n.name order by t.name),
       holdfast.clock()
  from named n
  left join holdfast.flag f on f.name = n.name
 order by n.name
