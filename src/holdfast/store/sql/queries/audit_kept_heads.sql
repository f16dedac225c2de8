-- H07, against heads that were kept outside: whether the histories of these jobs are still what they were up to that row.
with kept as materialized (
  select k.job_id, k.seq, k.head from unnest(%(jobs)s::uuid[], %(seqs)s::int[], %(heads)s::text[]) as k (job_id, seq, head)),
now as materialized (
  select k.job_id, k.seq, k.head, encode(h.head, 'hex') as now
    from kept k
    join holdfast.job j on j.id = k.job_id
    left join lateral holdfast.heads(k.job_id, k.job_id) as h on h.seq = k.seq)
select 'H07' as code, n.job_id, format('its history up to row %%s is not the one whose head was kept', n.seq) as what
  from now n
 where n.now <> n.head
union all
select 'H07', n.job_id, format('the head of row %%s was kept, and its history has no such row', n.seq)
  from now n
 where n.now is null
