-- What one person may decide and has said nothing about, among the newest thousand that are open; counted no further than the cap.
select count(*)
  from (select
          from (select a.id, a.job_id, a.approvers, a.self_approval, a.requester
                  from holdfast.approval a
                 where a.decided_at is null
                   and (%(tenant)s::text is null or exists (select from holdfast.job j where j.id = a.job_id and j.tenant = %(tenant)s::text))
                 order by a.id desc
                 limit 1000) as o
         where (cardinality(o.approvers) = 0 or exists (select from unnest(o.approvers) as one where lower(btrim(one)) = lower(btrim(%(who)s))))
           and (o.self_approval or lower(btrim(o.requester)) is distinct from lower(btrim(%(who)s)))
           and not exists (select from holdfast.approval_decision d where d.approval_id = o.id and lower(btrim(d.who)) = lower(btrim(%(who)s)))
         limit %(cap)s) as waiting
