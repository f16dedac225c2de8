-- The watch: rules that time decides. Bounded looks along indexes and the minutes' statistics; no job is counted.

-- Since when the oldest job of a queue's line has been waiting; null when nothing is in line. It is at the head of some tenant's line:
-- a thousand tenants are enough to know how long people wait.
create or replace function holdfast.waiting_since(p_queue text) returns timestamptz
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  with recursive heads as (
    (select 1 as number, coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
       from holdfast.job j
      where j.queue = p_queue and j.claim_order is not null and not j.suspect
      order by coalesce(j.tenant, ''), j.claim_order, j.id
      limit 1)
    union all
    select h.number + 1, further.tenant, further.since
      from heads h
     cross join lateral (
       select coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
         from holdfast.job j
        where j.queue = p_queue and j.claim_order is not null and not j.suspect and coalesce(j.tenant, '') > h.tenant
        order by coalesce(j.tenant, ''), j.claim_order, j.id
        limit 1) as further
     where h.number < 1000)
  select min(h.since) from heads h
$$;

-- Every function of this family answers what is wrong now by one rule: about what, in words, which job, how many, and when it was seen.
create or replace function holdfast.too_many_failures(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'task:' || s.task, format('%s jobs of task %s FAILED within %s', sum(s.failed), s.task, holdfast.in_words(p_rule.period)),
         null::uuid, sum(s.failed)::bigint, p_now
    from holdfast.statistic s
   where s.minute > p_now - p_rule.period - interval '1 minute' and s.failed > 0 and not holdfast.is_own_task(s.task)
     and (p_rule.task is null or s.task = p_rule.task) and (p_rule.queue is null or s.queue = p_rule.queue)
   group by s.task
  having sum(s.failed) > p_rule.threshold
$$;

create or replace function holdfast.low_success_rates(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'task:' || s.task,
         format('%s %% of the %s jobs of task %s that ended within %s COMPLETED; the mark is %s %%',
                trunc(100.0 * sum(s.completed) / sum(s.completed + s.failed), 1), sum(s.completed + s.failed), s.task, holdfast.in_words(p_rule.period),
                round((100 * p_rule.threshold)::numeric, 1)),
         null::uuid, sum(s.failed)::bigint, p_now
         -- What undoes a failure is a job of the same task, and no success of it.
    from (select a.minute, a.queue, a.task, a.completed - a.undo_completed as completed, a.failed - a.undo_failed as failed
            from holdfast.statistic a) as s
   where s.minute > p_now - p_rule.period - interval '1 minute' and not holdfast.is_own_task(s.task)
     and (p_rule.task is null or s.task = p_rule.task) and (p_rule.queue is null or s.queue = p_rule.queue)
   group by s.task
  having sum(s.completed + s.failed) >= p_rule.least and sum(s.completed) < p_rule.threshold * sum(s.completed + s.failed)
$$;

-- A paused queue waits because somebody wants it to; and of a queue of messages that nobody serves no message can tell.
create or replace function holdfast.open_lines(p_rule holdfast.alert_rule, p_now timestamptz) returns table (queue text, since timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  -- Not the queues that somebody has declared: jobs can be enqueued into any, and those are the ones that nobody serves. Hops along the index.
  with recursive in_line as (
    (select j.queue::text as name
       from holdfast.job j
      where p_rule.queue is null and j.claim_order is not null and not j.suspect
      order by j.queue
      limit 1)
    union all
    select (select j.queue::text
              from holdfast.job j
             where j.claim_order is not null and not j.suspect and j.queue > l.name
             order by j.queue
             limit 1)
      from in_line l
     where l.name is not null)
  select n.name, holdfast.waiting_since(n.name)
    from (select l.name from in_line l where l.name <> 'holdfast'
          union all
          select p_rule.queue::text where p_rule.queue is not null) as n
    left join holdfast.queue q on q.name = n.name
   where q.paused_at is null or q.resume_at <= p_now
$$;

create or replace function holdfast.long_waits(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'queue:' || l.queue,
         format('the oldest job in queue %s has waited for longer than %s (since %s)', l.queue, holdfast.in_words(p_rule.period),
                to_char(l.since at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')),
         null::uuid, 1::bigint, p_now
    from holdfast.open_lines(p_rule, p_now) as l
   where l.since < p_now - p_rule.period
$$;

create or replace function holdfast.unserved_queues(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'queue:' || l.queue, format('jobs wait in queue %s, and no live worker serves it', l.queue), null::uuid, 1::bigint, p_now
    from holdfast.open_lines(p_rule, p_now) as l
   where l.since < p_now - p_rule.period
     and not exists (select from holdfast.worker w where w.died_at is null and w.stopped_at is null and w.wish is null and w.seen_at + w.lease >= p_now and w.queues ? l.queue)
$$;

-- The oldest thousand that are open: there is nothing to be gained from telling of more.
create or replace function holdfast.overdue_approvals(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'approval:' || a.id,
         format('approval %s of job %s (task %s) ', a.name, a.job_id, j.task)
         || case when a.asked_at < p_now - p_rule.period then format('has waited for longer than %s', holdfast.in_words(p_rule.period))
                 else format('expires within %s', holdfast.in_words(make_interval(secs => p_rule.threshold))) end,
         a.job_id, 1::bigint, p_now
    from (select a.id, a.job_id, a.name, a.asked_at, a.expires_at from holdfast.approval a where a.decided_at is null order by a.id limit 1000) as a
    join holdfast.job j on j.id = any (array[a.job_id])
   where (a.asked_at < p_now - p_rule.period or a.expires_at < p_now + make_interval(secs => p_rule.threshold))
     and (a.expires_at is null or a.expires_at > p_now)
     and (p_rule.task is null or j.task = p_rule.task) and (p_rule.queue is null or j.queue = p_rule.queue) and (p_rule.tenant is null or j.tenant = p_rule.tenant)
$$;

-- Late, or its newest times were not fired though they should have been.
create or replace function holdfast.missed_schedules(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'schedule:' || s.name,
         case when r.n > 0 then format('%s of schedule %s did not become a job within the last hour (%s)', case r.n when 1 then 'a time' else r.n || ' times' end, s.name, r.outcomes)
              else format('schedule %s is late: it was due at %s', s.name, to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')) end,
         null::uuid, coalesce(r.n, 1), p_now
    from holdfast.schedule s
    left join (select m.schedule, sum(m.times)::bigint as n, string_agg(distinct m.outcome, ', ') as outcomes
                 from holdfast.schedule_run m
                where m.at > p_now - interval '1 hour' and m.outcome in ('missed', 'refused')
                group by m.schedule) as r on r.schedule = s.name
   where s.paused_at is null and s.withdrawn_at is null
     and (p_rule.task is null or s.task = p_rule.task)
     and (r.n > 0 or s.next_at < p_now - p_rule.period)
$$;

create or replace function holdfast.silent_runs(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'job:' || d.job_id,
         format('job %s (task %s), which executor %s runs, has not been heard of for longer than %s', d.job_id, j.task, d.executor, holdfast.in_words(p_rule.period)),
         d.job_id, 1::bigint, p_now
    from (select d.job_id, d.executor, coalesce(d.seen_at, d.sent_at, d.created_at) as heard_at
            from holdfast.dispatch d where d.state = 'sent' order by d.job_id limit 1000) as d
    join holdfast.job j on j.id = any (array[d.job_id])
   where d.heard_at < p_now - p_rule.period and j.status = 'RUNNING'
     and (p_rule.task is null or j.task = p_rule.task) and (p_rule.queue is null or j.queue = p_rule.queue) and (p_rule.tenant is null or j.tenant = p_rule.tenant)
$$;

-- Opened by the failure itself; what came since is counted from the minutes, which know no tenants. Of a tenant's rule it is counted from
-- its jobs that FAILED, which have an index: ten thousand are enough to know.
create or replace function holdfast.further_failures(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select a.about, format('%s of task %s FAILED', case f.n when 1 then 'a job' else f.n || ' jobs' end, substr(a.about, 6)), a.job_id, f.n,
         greatest(a.last_seen_at, least(f.last, p_now))
    from holdfast.alert a
   cross join lateral (
     select sum(s.failed)::bigint as n, max(s.minute) + interval '1 minute' as last
       from holdfast.statistic s
      where p_rule.tenant is null and s.task = substr(a.about, 6) and s.failed > 0
        and s.minute >= date_bin('1 minute', greatest(a.opened_at, p_now - interval '7 days'), '2000-01-01')
        and (p_rule.queue is null or s.queue = p_rule.queue)
     having sum(s.failed) > 0
     union all
     select count(*), max(o.finished_at)
       from (select j.finished_at
               from holdfast.job j
              where j.status = 'FAILED' and j.tenant = p_rule.tenant and j.task = substr(a.about, 6) and j.compensates is null
                and j.finished_at >= date_bin('1 minute', greatest(a.opened_at, p_now - interval '7 days'), '2000-01-01')
                and (p_rule.queue is null or j.queue = p_rule.queue)
              order by j.finished_at desc
              limit 10000) as o
     having count(*) > 0) as f
   where a.rule = p_rule.name and a.closed_at is null
$$;

-- Still not undone: neither it nor a retry of it has come to an end that a person wanted.
create or replace function holdfast.failed_compensations(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  with recursive tried as (
    select a.id as alert_id, a.job_id from holdfast.alert a where a.rule = p_rule.name and a.closed_at is null
    union all
    select t.alert_id, r.id from tried t join holdfast.job r on r.retry_of = t.job_id)
  select a.about, a.message, a.job_id, a.count, p_now
    from holdfast.alert a
   where a.rule = p_rule.name and a.closed_at is null
     and exists (select from holdfast.job j where j.id = a.job_id)
     and not exists (select from tried t join holdfast.job j on j.id = any (array[t.job_id]) where t.alert_id = a.id and j.status in ('COMPLETED', 'CANCELLED'))
$$;

create or replace function holdfast.causes(p_rule holdfast.alert_rule, p_now timestamptz)
returns table (about text, message text, job_id uuid, count bigint, seen_at timestamptz)
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  case p_rule.kind
    when 'failures' then return query select * from holdfast.too_many_failures(p_rule, p_now);
    when 'success_rate' then return query select * from holdfast.low_success_rates(p_rule, p_now);
    when 'oldest_wait' then return query select * from holdfast.long_waits(p_rule, p_now);
    when 'no_worker' then return query select * from holdfast.unserved_queues(p_rule, p_now);
    when 'approval_overdue' then return query select * from holdfast.overdue_approvals(p_rule, p_now);
    when 'schedule_missed' then return query select * from holdfast.missed_schedules(p_rule, p_now);
    when 'callback_silent' then return query select * from holdfast.silent_runs(p_rule, p_now);
    when 'job_failed' then return query select * from holdfast.further_failures(p_rule, p_now);
    when 'compensation_failed' then return query select * from holdfast.failed_compensations(p_rule, p_now);
  end case;
end $$;

-- Looks at every rule; opens what is new, closes what is gone. Any number of processes may, at once: the index decides who opens.
-- The settings leave the indexes: a plan made while the tables were small would read all of them.
create or replace function holdfast.judge_rules(out opened bigint, out closed bigint)
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_rule holdfast.alert_rule;
  v_opened uuid[];
begin
  opened := 0;
  for v_rule in select * from holdfast.alert_rule r where r.enabled order by r.name loop
    v_opened := null;
    if v_rule.kind in ('job_failed', 'compensation_failed') then   -- opened by the move itself
      update holdfast.alert a
         set message = c.message, count = c.count, last_seen_at = greatest(a.last_seen_at, c.seen_at)
        from holdfast.causes(v_rule, v_now) as c
       where a.rule = v_rule.name and a.about = c.about and a.closed_at is null;
    else
      with found as (
        insert into holdfast.alert as a (rule, about, severity, message, job_id, count, opened_at, last_seen_at)
        select v_rule.name, c.about, v_rule.severity, c.message, c.job_id, c.count, v_now, v_now
          from holdfast.causes(v_rule, v_now) as c
         order by c.about
        on conflict (rule, about) where closed_at is null do update
           set message = excluded.message, count = excluded.count, severity = excluded.severity, last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at)
        returning a.id, a.xmax = 0 as is_new)
      select array_agg(f.id) filter (where f.is_new) into v_opened from found f;
      perform holdfast.tell_of_alert(o.id, 'opened') from unnest(v_opened) as o (id);
    end if;
    opened := opened + coalesce(cardinality(v_opened), 0);
  end loop;
  closed := holdfast.close_alerts(v_now);
end $$;

-- Closes alerts whose cause has been gone for a minute: what comes and goes is one alert. Failures of jobs are gone when none was seen
-- for the rule's period. An alert whose rule was taken out or muted closes without a word.
create or replace function holdfast.close_alerts(p_now timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_closed uuid[];
begin
  with gone as materialized (
    select a.id
      from holdfast.alert a
      left join holdfast.alert_rule r on r.name = a.rule and r.enabled
     where a.closed_at is null
       and (r.name is null or a.last_seen_at < p_now - case r.kind when 'job_failed' then r.period else interval '1 minute' end)
     order by a.rule, a.about
       for no key update of a skip locked),
  shut as (
    update holdfast.alert a set closed_at = p_now from gone g where a.id = g.id and a.closed_at is null returning a.id)
  select array_agg(s.id) into v_closed from shut s;
  perform holdfast.tell_of_alert(c.id, 'resolved') from unnest(v_closed) as c (id);
  return coalesce(cardinality(v_closed), 0);
end $$;

-- Called with every sweep of every worker; one of them looks, at most every p_every. Answers null when it was not its turn.
create or replace function holdfast.evaluate_alerts(p_every interval default interval '10 seconds', out opened bigint, out closed bigint)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
begin
  if not exists (select from holdfast.alert_rule) and not exists (select from holdfast.alert a where a.closed_at is null) then
    return;
  end if;
  -- A time in the future is a clock's that was set back: it must not silence the watch.
  perform from holdfast.alert_watch w where w.ran_at is null or w.ran_at <= v_now - p_every or w.ran_at > v_now for update skip locked;
  if not found then
    return;
  end if;
  select j.opened, j.closed into opened, closed from holdfast.judge_rules() as j;
  update holdfast.alert_watch w set ran_at = v_now;
end $$;

-- Closed alerts and messages that were sent are kept for 90 days.
create or replace function holdfast.forget_alerts(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_cutoff timestamptz := holdfast.clock() - interval '90 days';
  v_alerts bigint;
  v_messages bigint;
begin
  delete from holdfast.alert a
   where a.id = any (array(select o.id from holdfast.alert o where o.closed_at < v_cutoff order by o.closed_at limit p_limit));
  get diagnostics v_alerts = row_count;
  delete from holdfast.notification n
   where n.id = any (array(select o.id from holdfast.notification o where o.created_at < v_cutoff and o.state <> 'waiting' order by o.created_at limit p_limit));
  get diagnostics v_messages = row_count;
  return greatest(v_alerts, v_messages);
end $$;
