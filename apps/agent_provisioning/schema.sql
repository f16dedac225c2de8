-- Agents, who pays for them, and how far their machines are. The schema itself is made by the database's owner.

create table if not exists agent_provisioning.customer (
  user_id         text primary key,
  stripe_customer text not null unique
);

create table if not exists agent_provisioning.agent (
  id               uuid primary key,
  user_id          text not null references agent_provisioning.customer,
  name             text not null,
  region           text not null,
  checkout_session text not null unique,
  created_at       timestamptz not null default now()
);
create index if not exists agent_by_user on agent_provisioning.agent (user_id);   -- who is busy

create table if not exists agent_provisioning.subscription (
  id         text primary key,                     -- Stripe's
  agent_id   uuid not null references agent_provisioning.agent,
  event_id   text not null,
  created_at timestamptz not null default now(),
  constraint an_event_counts_once unique (event_id)
);

-- A user's agents, each with its newest job. Nothing is stored twice: the job's row is what says how far the machine is.
-- A function and no view, because a view would keep Holdfast's own tables from changing.
create or replace function agent_provisioning.provisions(p_user_id text)
returns table (agent_id uuid, name text, region text, state text, job_id uuid, workflow_run_id text, error text, failed_step text, retries int)
language sql stable as $$
  select a.id, a.name, a.region,
         case
           when j.id is null then 'draft'
           when j.status = 'COMPLETED' then 'running'
           when j.status in ('FAILED', 'CANCELLED') then 'failed'
           when j.status = 'RUNNING' and run.state = 'sent' then 'provisioning'
           else 'queued'                           -- also while GitHub is being called: nothing has started yet
         end,
         j.id,
         run.run_id,
         case when j.status in ('FAILED', 'CANCELLED') then coalesce(j.error ->> 'message', j.reason) end,
         case when j.status = 'FAILED' then j.error ->> 'step' end,
         (select count(*)
            from holdfast.job r
           where r.subject = 'agent:' || a.id and r.retry_of is not null and r.compensates is null)::int
    from agent_provisioning.agent a
    left join lateral (
      select newest.id::uuid as id, newest.status, newest.attempt, newest.error, newest.reason
        from holdfast.job newest
       where newest.subject = 'agent:' || a.id and newest.task = 'provision' and newest.compensates is null
       order by newest.id desc
       limit 1) as j on true
    left join holdfast.dispatch run on run.job_id = j.id and run.attempt = j.attempt
   where a.user_id = p_user_id
$$;
