-- One branch a way of asking, each with an index of its own: a plan made for one of them serves the others too.
with chosen as (
  (select a.id
     from holdfast.approval a
    where %(scope)s = 'job' and a.job_id = %(job_id)s
    order by a.id desc
    limit %(limit)s)
  union all
  (select a.id
     from holdfast.approval a
    where %(scope)s = 'open' and a.decided_at is null and a.id >= %(first)s and a.id <= %(last)s
      and (%(approver)s::text is null or exists (select from unnest(a.approvers) as one where lower(one) = lower(btrim(%(approver)s))))
      and (%(tenant)s::text is null or exists (select from holdfast.job j where j.id = a.job_id and j.tenant = %(tenant)s::text))
    order by a.id desc
    limit %(limit)s)
  union all
  (select a.id
     from holdfast.approval a
    where %(scope)s in ('decided', 'all') and (%(scope)s = 'all' or a.decided_at is not null) and a.id >= %(first)s and a.id <= %(last)s
      and (%(approver)s::text is null or exists (select from unnest(a.approvers) as one where lower(one) = lower(btrim(%(approver)s))))
      and (%(tenant)s::text is null or exists (select from holdfast.job j where j.id = a.job_id and j.tenant = %(tenant)s::text))
    order by a.id desc
    limit %(limit)s))
select a.id, a.job_id, j.task, a.name, a.question, a.facts, a.approvers, a.quorum, a.requester, a.self_approval, a.bulk, a.bound_hash, a.asked_at,
       a.expires_at, a.on_expiry, a.decided_at, a.decision, a.decided_by, a.decided_from, a.reason,
       coalesce((select jsonb_agg(jsonb_build_object('who', d.who, 'decision', d.decision, 'reason', d.reason, 'origin', d.origin, 'how', d.how,
                                                     'at', d.at) order by d.at, d.who)
                   from holdfast.approval_decision d
                  where d.approval_id = a.id), '[]'),
       holdfast.clock(),
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact')
  from chosen c
  join holdfast.approval a on a.id = c.id
  join holdfast.job j on j.id = a.job_id
 where %(tenant)s::text is null or j.tenant = %(tenant)s::text
 order by a.id desc
 limit %(limit)s
