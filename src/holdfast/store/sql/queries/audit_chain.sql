-- H07, the chain: whether the history of jobs of a range of ids is the one whose head stands on their row.
with h as materialized (
  select c.job_id, c.seq, c.head from holdfast.heads(%(first)s::uuid, %(last)s::uuid) as c),
j as materialized (
  select b.id::uuid as id, b.seq, b.chain, h.head
    from holdfast.job b
    left join h on h.job_id = b.id and h.seq = b.seq
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid)
select 'H07' as code, j.id as job_id, 'its history is not the one that its moves wrote: a row was changed, added or taken out, or the head of its chain was' as what
  from j
 where j.chain is not null and j.chain is distinct from j.head
union all
select 'H07', j.id, 'its history has no chain, and is not from before there were any'
  from j
  join holdfast.job_history n on n.job_id = j.id and n.seq = j.seq
 where j.chain is null and n.at > coalesce((select i.at from holdfast.installed i where i.what = 'chain'), '-infinity')
