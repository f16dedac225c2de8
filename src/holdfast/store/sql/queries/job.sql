select j.id, j.task, j.queue, j.status::text, j.priority, j.attempt, j.retry_count, j.max_retries, j.crash_count, j.suspect,
       j.created_at, j.updated_at, j.due_at, j.deadline_at, j.finished_at, j.claim_order is not null, j.holder, coalesce(holder.name, 'executor:' || run.executor),
       j.retry_of, (select r.id from holdfast.job r where r.retry_of = j.id),
       j.tenant, j.subject, j.key, j.key_held, j.held_by, j.reason, j.label, j.requested_by, j.tags, j.metadata,
       case when %(whole)s then j.payload else '{}' end, case when %(whole)s then j.result end, case when %(whole)s then j.error else j.error - 'traceback' end,
       paused.by, paused.at, paused.reason,
       exists (select from holdfast.worker w
                where w.died_at is null and w.wish is null and w.queues ? j.queue and w.seen_at + w.lease >= holdfast.clock()),
       exists (select from holdfast.worker w
                where w.died_at is null and w.wish is null and w.queues ? j.queue and j.task = any (w.tasks) and w.seen_at + w.lease >= holdfast.clock()),
       holder.seen_at, coalesce(holder.died_at is not null or holder.seen_at + holder.lease < holdfast.clock(), false),
       j.parent_id, j.compensates, (select c.id
          from holdfast.job c
         where c.compensates = j.id and not exists (select from holdfast.job r where r.retry_of = c.id)
         order by c.id desc
         limit 1),
       case when j.held_by is not null then holdfast.hold_facts(j.id, j.held_by) end,
       holdfast.clock(),
       (select jsonb_build_object('id', a.id, 'name', a.name, 'question', a.question, 'approvers', a.approvers, 'quorum', a.quorum,
                 'approvals', (select count(distinct lower(d.who)) from holdfast.approval_decision d where d.approval_id = a.id and d.decision = 'approve'),
                 'expires_at', a.expires_at, 'on_expiry', a.on_expiry, 'decided_by', a.decided_by, 'decided_at', a.decided_at)
          from holdfast.approval a
         where a.id = j.approval_id),
       j.ready_at, j.started_at,
       (select jsonb_build_object('executor', d.executor, 'state', d.state, 'id', d.run_id, 'url', d.run_url)
          from holdfast.dispatch d
         where d.job_id = j.id and d.attempt = j.attempt),
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact')
  from holdfast.job j
  left join holdfast.worker holder on holder.id = j.holder
  left join holdfast.dispatch run on run.id = j.holder
  left join lateral (select coalesce(q.paused_by, '?') as by, q.paused_at as at, q.reason
                       from holdfast.queue q
                      where q.name = j.queue and q.paused_at is not null
                        and (q.resume_at is null or q.resume_at > holdfast.clock())) as paused on true
