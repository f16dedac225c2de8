-- Fills a new database with the past of a busy service, past the functions that make jobs one by one: never for a database in use.
-- :jobs jobs of the last thirty days end in this minute; what the projector would have made of them is made here too.

alter table holdfast.job disable trigger user;
alter table holdfast.job_history disable trigger user;

do $$ begin
  for v_back in 0..2 loop
    perform holdfast.ensure_history_partition(date_trunc('month', now()) - v_back * interval '1 month');
  end loop;
end $$;

-- Indexes are made afterwards: that takes half the time.
create temporary table later as
  select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
   where i.indrelid = 'holdfast.job'::regclass and not i.indisprimary;
do $$ declare v_index record; begin
  for v_index in select * from later loop
    execute format('drop index %s', v_index.name);
  end loop;
end $$;

insert into holdfast.queue (name) select 'queue-' || n from generate_series(0, 7) as n on conflict do nothing;
insert into holdfast.task (name, queue) select 'shop.task_' || n, 'queue-' || n % 8 from generate_series(0, 39) as n;
insert into holdfast.worker (id, name, host, pid, version, queues, tasks, lease, seen_at)
select holdfast.new_id(), 'worker-' || n, 'host-' || n % 4, 1000 + n, '0.1.0',
       (select jsonb_object_agg(q.name, 20) from holdfast.queue q), array(select t.name::text from holdfast.task t), interval '1 hour', now()
  from generate_series(1, 12) as n;

-- The newest have not all ended: they wait in line, for a person or for their next attempt, or run.
with past as (
  select n, now() - interval '30 days' * (:jobs - n) / :jobs as at, hashint8(n)::bigint & 1048575 as luck from generate_series(1, :jobs) as n),
told as (
  select p.*, luck % 40 as task, luck % 500 as tenant,
         case when n > :jobs - 400 then 'RUNNING' when n > :jobs - 30000 and luck % 3 > 0 then 'PENDING' when n > :jobs - 60000 and luck % 60 = 7 then 'RETRY'
              when n > :jobs - 200000 and luck % 499 = 3 then 'WAITING_FOR_APPROVAL'
              when luck % 33 = 5 then 'FAILED' when luck % 71 = 9 then 'CANCELLED' else 'COMPLETED' end::holdfast.job_status as status
    from past p),
ids as (
  select t.*, (substr(holdfast.uuid_at(at)::text, 1, 14) || '7' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-' || substr(md5(n::text), 7, 12))::uuid as id,
         status in ('COMPLETED', 'FAILED', 'CANCELLED') as has_ended,
         case when status = 'PENDING' then 0 else 1 end as attempts
    from told t)
insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, deadline_at, finished_at, claim_id, approval_id, holder, status, came_from, attempt, seq,
       retry_count, task, queue, tenant, subject, label, tags, payload, result, error, ready_at, started_at)
select id, at, case when has_ended then at + interval '2 s' else at end,
       case when status = 'PENDING' then at end, case when status = 'RETRY' then now() + interval '1 h' end, null,
       case when has_ended then at + interval '2 s' end, case when attempts > 0 then id end, case when status = 'WAITING_FOR_APPROVAL' then id end,
       case when status = 'RUNNING' then (select w.id from holdfast.worker w order by w.id offset n % 12 limit 1) end,
       status, case when status = 'PENDING' then null when has_ended then 'RUNNING' else 'PENDING' end::holdfast.job_status,
       attempts, case when status = 'PENDING' then 1 when status in ('RUNNING') then 2 else 3 end,
       case when status = 'RETRY' then 1 else 0 end,
       'shop.task_' || task, 'queue-' || task % 8, case when tenant >= 100 then 'tenant-' || tenant end, 'order-' || n,
       case when luck % 10 = 0 then 'Order ' || n end, case when luck % 20 = 0 then jsonb_build_array('vip', 'batch-' || luck % 50) end,
       jsonb_build_object('order_id', n, 'amount', luck), case when status = 'COMPLETED' then to_jsonb('done ' || n) end,
       case when status in ('FAILED', 'RETRY') then jsonb_build_object('type', 'shop.Trouble' || luck % 7, 'message', 'order ' || n || ' was refused',
         'fingerprint', 'f' || luck % 7, 'class', 'unknown') end,
       case when status <> 'PENDING' then at end, case when status <> 'PENDING' then at + interval '1 s' end
  from ids;

do $$ declare v_index record; begin
  for v_index in select * from later loop
    execute v_index.definition;
  end loop;
end $$;

-- Projected already: its transactions have numbers before all others.
insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor)
select j.id, s.seq, s.old, s.new, s.attempt, s.at, extract(epoch from s.at - now()) * 1000000, case when s.seq = 1 then 'api' else 'worker-' || j.attempt end
  from holdfast.job j
 cross join lateral (values (1, null, 'PENDING'::holdfast.job_status, 0, j.created_at),
                            (2, 'PENDING'::holdfast.job_status, 'RUNNING'::holdfast.job_status, 1, j.created_at + interval '1 s'),
                            (3, 'RUNNING'::holdfast.job_status, j.status, 1, j.updated_at)) as s (seq, old, new, attempt, at)
 where s.seq <= j.seq;
alter table holdfast.job_history enable trigger user;
alter table holdfast.job enable trigger user;

insert into holdfast.attempt (job_id, attempt, worker, outcome, error, at)
select j.id, 1, 'worker-1', 'failed', j.error, j.updated_at from holdfast.job j where j.status = 'FAILED';

insert into holdfast.statistic
select date_trunc('minute', j.created_at), j.queue, j.task, count(*), count(*), count(*) filter (where j.status = 'COMPLETED'),
       count(*) filter (where j.status = 'FAILED'), count(*) filter (where j.status = 'CANCELLED'), 0, 0, count(*), count(*) * interval '1 s', count(*),
       count(*) * interval '1 s'
  from holdfast.job j group by 1, 2, 3 order by 1;   -- as the projector writes them: minute after minute
insert into holdfast.timing
select s.minute, s.queue, s.task, w.what, holdfast.bucket_of(interval '1 s'), s.enqueued
  from holdfast.statistic s cross join (values ('wait'), ('run')) as w (what) order by 1;
insert into holdfast.tally
select j.queue, j.task, j.status, count(*), 0 from holdfast.job j group by 1, 2, 3;
insert into holdfast.usage
select j.created_at::date, j.tenant, j.task, count(*), count(*), count(*) filter (where j.status = 'COMPLETED'), count(*) filter (where j.status = 'FAILED'),
       count(*) filter (where j.status = 'CANCELLED'), 0, count(*), count(*), 0
  from holdfast.job j group by 1, 2, 3;

insert into holdfast.webhook_delivery (id, endpoint, event_id, type, status, body, received_at, ended_at)
select holdfast.new_id(), 'stripe', 'evt_' || n, 'checkout.session.completed', 'handled', '{}', now() - n * interval '10 s', now() - n * interval '10 s'
  from generate_series(1, least(:jobs / 50, 100000)) as n;

insert into holdfast.approval (id, job_id, attempt, name, question, facts, approvers, quorum, self_approval, bound_hash, asked_at, on_expiry)
select j.id, j.id, 1, 'refund', 'Refund order ' || j.subject || '?', '{"amount": 120}', '{}', 1, true, '', j.updated_at, 'deny'
  from holdfast.job j where j.status = 'WAITING_FOR_APPROVAL';
insert into holdfast.schedule (name, task, cron, anchor, declared, settled_to, next_at, created_at, updated_at)
select 'nightly-' || n, 'shop.task_' || n, '0 3 * * *', now(), false, now(), now() + interval '1 day', now(), now() from generate_series(0, 29) as n;
insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, job_id, actor)
select 'nightly-' || n, now() - d * interval '1 day', now() - d * interval '1 day', 'fired', now() - d * interval '1 day', holdfast.new_id(), 'worker-1'
  from generate_series(0, 29) as n cross join generate_series(1, 30) as d;
insert into holdfast.operation (id, action, search, actor, reason, total)
select j.id, 'retry', 'status:failed', 'ada', 'the gateway is back', 500
  from (select id from holdfast.job where status = 'COMPLETED' order by id desc limit 50) as j;
insert into holdfast.operation_chunk (operation_id, nth, jobs, finished_at, done)
select o.id, 1, array(select j.id from holdfast.job j where j.status = 'FAILED' order by j.id desc limit 500), now(), 500 from holdfast.operation o;
insert into holdfast.audit (at, actor, action, target, reason)
select now() - n * interval '20 s', 'ada', 'job.cancel', 'order-' || n, 'asked by the customer' from generate_series(1, least(:jobs / 50, 100000)) as n;

vacuum analyze;
