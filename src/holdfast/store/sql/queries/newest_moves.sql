-- Moves of jobs, the newest first: no more than a bound is looked at, of which those are given that fit.
select h.xid, h.job_id, h.seq, h.from_status::text, h.to_status::text, h.attempt, h.at, h.actor, h.reason, j.task::text, j.label, j.tenant::text,
       case when h.fits and coalesce(h.reason, j.label) is not null then
         (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact') end,
       h.fits
  from (select h.xid, h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.at, h.actor, h.reason,
               %(statuses)s::text[] is null or h.to_status::text = any (%(statuses)s::text[]) as fits
          from holdfast.job_history h
         where (h.xid, h.job_id, h.seq) < (%(xid)s::bigint, %(job_id)s::uuid, %(seq)s::int)
         order by h.xid desc, h.job_id desc, h.seq desc
         limit %(looked)s) as h
  join holdfast.job j on j.id = h.job_id
 order by h.xid desc, h.job_id desc, h.seq desc
