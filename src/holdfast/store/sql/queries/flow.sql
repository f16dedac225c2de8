-- From one job along everything that ties jobs together, one index each. The walk ends where enough has been seen: it is read lazily.
with recursive part (id) as (
  select %(job_id)s::uuid
  union
  select tied.id
    from part p
    cross join lateral (
      select d.job_id as id from holdfast.dependency d where d.needs = p.id and d.position <> 0   -- 0: it has waited for it, and does so no more
      union all
      select d.needs from holdfast.dependency d where d.job_id = p.id and d.position <> 0
      union all
      select j.id from holdfast.job j where j.parent_id = p.id
      union all
      select j.id from holdfast.job j where j.compensates = p.id
      union all
      select j.id from holdfast.job j where j.retry_of = p.id
      union all
      select own.id
        from holdfast.job j
        cross join lateral unnest(array[j.parent_id, j.compensates, j.retry_of]) as own (id)
       where j.id = p.id and own.id is not null) as tied),
chosen as materialized (
  select p.id from part p limit %(most)s)
select j.id, j.task, j.label, j.status, j.parent_id, j.compensates, j.retry_of,
       coalesce((select array_agg(d.needs order by d.position) from holdfast.dependency d where d.job_id = j.id and d.position <> 0), '{}'),
       case when j.label is not null then
         (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact') end
  from chosen c
  cross join lateral (   -- one by one: no statistics can talk the planner into reading all jobs
    select o.id, o.task, o.label, o.status::text as status, o.parent_id, o.compensates, o.retry_of, o.payload
      from holdfast.job o
     where o.id = c.id and (%(tenant)s::text is null or o.tenant = %(tenant)s::text)
     limit 1) as j
 order by j.id
