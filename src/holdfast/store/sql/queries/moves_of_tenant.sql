-- Moves of a tenant's newest jobs, the newest first.
select h.xid, h.job_id, h.seq, h.from_status::text, h.to_status::text, h.attempt, h.at, h.actor, h.reason, j.task::text, j.label, j.tenant::text,
       case when coalesce(h.reason, j.label) is not null then
         (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact') end,
       true
  from (select j.id, j.task, j.label, j.tenant, j.payload
          from holdfast.job j
         where j.tenant = %(tenant)s::text
         order by j.id desc
         limit 300) as j
  join holdfast.job_history h on h.job_id = j.id
 where (h.xid, h.job_id, h.seq) < (%(xid)s::bigint, %(job_id)s::uuid, %(seq)s::int)
   and (%(statuses)s::text[] is null or h.to_status::text = any (%(statuses)s::text[]))
 order by h.xid desc, h.job_id desc, h.seq desc
 limit %(looked)s
