-- The head of each chain of a range of jobs, as their histories are now.
select distinct on (h.job_id) h.job_id, h.seq, encode(h.head, 'hex')
  from holdfast.heads(%(first)s::uuid, %(last)s::uuid) as h
 where h.head is not null
 order by h.job_id, h.seq desc
