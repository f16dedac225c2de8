-- D, approvals: every way out of WAITING_FOR_APPROVAL has its one decision, and every decision its consequence.
-- Time: the deadline is looked at a moment before the decision is stamped.
with gate as materialized (
  select a.id, a.job_id, a.attempt, a.name, a.question, a.facts, a.approvers, a.quorum, a.requester, a.self_approval, a.bound_hash, a.asked_at,
         a.expires_at, a.decided_at, a.decision, a.decided_by, j.status, j.approval_id, j.payload
    from holdfast.approval a
    join holdfast.job j on j.id = a.job_id
   where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid),
edge as materialized (
  select h.job_id, h.seq, h.to_status, h.attempt, h.at, h.metadata -> 'approval' ->> 'id' as approval_id
    from holdfast.job_history h
   where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid and h.from_status = 'WAITING_FOR_APPROVAL'),
voice as materialized (
  select g.id, g.job_id, g.name, d.who, d.decision, d.how, d.at, d.bound_hash
    from gate g
    join holdfast.approval_decision d on d.approval_id = g.id)
select 'D01' as code, e.job_id, format('it went on to %%s (row %%s) and no decision says so', e.to_status, e.seq) as what
  from edge e
 where e.to_status <> 'CANCELLED'
   and not exists (select from gate g
                    where g.id::text = e.approval_id and g.job_id = e.job_id and g.decided_at <= e.at
                      and g.decision = any (case when e.to_status = 'RUNNING' then array['approved'] else array['denied', 'expired'] end))
union all
select 'D01', g.job_id, format('approval %%s was %%s by %%s at %%s, after it had expired at %%s', g.name, g.decision, g.decided_by, g.decided_at, g.expires_at)
  from gate g
 where g.decision in ('approved', 'denied') and g.decided_by <> 'system' and g.decided_at > g.expires_at + interval '1 second'
union all
select 'D02', g.job_id, format('approval %%s is %%s, and the job is %%s', g.name, coalesce(g.decision, 'open'), g.status)
  from gate g
 where not case coalesce(g.decision, 'open')
             when 'open' then g.status = 'WAITING_FOR_APPROVAL' and g.approval_id = g.id
             when 'approved' then
               (g.status = 'WAITING_FOR_APPROVAL' and g.approval_id = g.id)
               or exists (select from edge e where e.job_id = g.job_id
                            and ((e.to_status = 'RUNNING' and e.approval_id = g.id::text) or (e.to_status = 'CANCELLED' and e.attempt = g.attempt)))
             when 'cancelled' then g.status = 'CANCELLED'
             else exists (select from edge e where e.job_id = g.job_id and e.to_status = 'FAILED' and e.approval_id = g.id::text)
           end
union all
select 'D03', g.job_id, format('approval %%s was %%s with %%s approvals of %%s and %%s denials', g.name, coalesce(g.decision, 'left open'), v.approvals, g.quorum, v.denials)
  from gate g
  cross join lateral (
    select count(distinct holdfast.person(v.who)) filter (where v.decision = 'approve' and v.how <> 'system') as approvals,
           count(*) filter (where v.decision = 'deny' and v.how <> 'system') as denials,
           count(*) filter (where v.how = 'system') as by_time
      from voice v
     where v.id = g.id) as v
 where (v.denials > 0 and g.decision is distinct from 'denied')
    or (v.by_time > 0 and g.decided_by is distinct from 'system')
    or (v.approvals >= g.quorum and coalesce(g.decision, 'open') <> 'approved')
    or (g.decision = 'approved' and case when g.decided_by = 'system' then v.by_time else v.approvals end < case when g.decided_by = 'system' then 1 else g.quorum end)
    or (g.decision = 'denied' and v.denials + v.by_time = 0)
union all
select 'D03', v.job_id, format('%%s decided approval %%s at %%s, when it was decided already', v.who, v.name, v.at)
  from voice v
  join gate g on g.id = v.id
 where v.at > g.decided_at
union all
select 'D04', h.job_id, format('row %%s of its history has what looks like a secret', h.seq)
  from holdfast.job_history h
 where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid
   and concat_ws(' ', h.actor, h.reason, h.metadata::text) ~ %(secret)s
union all
select 'D04', a.job_id, format('its activity %%s (%%s) has what looks like a secret', a.id, a.kind)
  from holdfast.activity a
 where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid
   and concat_ws(' ', a.actor, a.data::text) ~ %(secret)s
union all
select 'D05', v.job_id, format('%%s decided approval %%s and %%s', v.who, v.name,
         case when holdfast.person(v.who) = holdfast.person(g.requester) then 'had asked for the job' else 'is none of its approvers' end)
  from voice v
  join gate g on g.id = v.id
 where v.how <> 'system'
   and ((not g.self_approval and holdfast.person(v.who) = holdfast.person(g.requester))
        or (cardinality(g.approvers) > 0 and not exists (select from unnest(g.approvers) as a where holdfast.person(a) = holdfast.person(v.who))))
union all
select 'D06', g.job_id, format('approval %%s is about something else than what the job and the question are now', g.name)
  from gate g
 where g.bound_hash <> holdfast.bound_hash(g.job_id, g.payload, g.name, g.question, g.facts, g.approvers, g.quorum)
union all
select 'D06', v.job_id, format('%%s decided about something else than what approval %%s asks', v.who, v.name)
  from voice v
  join gate g on g.id = v.id
 where v.bound_hash <> g.bound_hash
