-- Approvals: a job asks and lets go of its worker; people decide, or the clock does. Exactly one decision counts.
-- Lock the job before its approval, everywhere; an approval's tokens and votes are written by whoever locked the approval.

create or replace trigger approval_question_is_immutable
  before update of id, job_id, attempt, name, question, facts, approvers, quorum, requester, self_approval, bulk, bound_hash, asked_at, expires_at, on_expiry
  on holdfast.approval
  for each row when ((old.id, old.job_id, old.attempt, old.name, old.question, old.facts::text, old.approvers, old.quorum, old.requester,
                      old.self_approval, old.bulk, old.bound_hash, old.asked_at, old.expires_at, old.on_expiry)
                     is distinct from
                     (new.id, new.job_id, new.attempt, new.name, new.question, new.facts::text, new.approvers, new.quorum, new.requester,
                      new.self_approval, new.bulk, new.bound_hash, new.asked_at, new.expires_at, new.on_expiry))
  execute function holdfast.refuse('what an approval asks never changes: a decision is about what was asked');
create or replace trigger approval_is_decided_once
  before update of decided_at, decision, decided_by, decided_from, reason on holdfast.approval
  for each row when (old.decided_at is not null
                     and (old.decided_at, old.decision, old.decided_by, old.decided_from, old.reason)
                         is distinct from (new.decided_at, new.decision, new.decided_by, new.decided_from, new.reason))
  execute function holdfast.refuse('an approval is decided once: what was decided stays');
create or replace trigger approval_is_kept before delete on holdfast.approval
  for each row execute function holdfast.guard_removal('approvals are kept: DELETE is for retention only');
create or replace trigger approval_is_not_truncated before truncate on holdfast.approval
  for each statement execute function holdfast.refuse('approvals are kept: TRUNCATE is refused');
create or replace trigger approver_is_kept before delete on holdfast.approver
  for each row execute function holdfast.guard_removal('approvers are kept: DELETE is for retention only');
create or replace trigger approver_is_not_truncated before truncate on holdfast.approver
  for each statement execute function holdfast.refuse('approvers are kept: TRUNCATE is refused');
select holdfast.make_append_only('holdfast.approval_decision', 'decision', 'decisions are');
alter table holdfast.approval enable always trigger approval_question_is_immutable;
alter table holdfast.approval enable always trigger approval_is_decided_once;
alter table holdfast.approval enable always trigger approval_is_kept;
alter table holdfast.approval enable always trigger approval_is_not_truncated;
alter table holdfast.approver enable always trigger approver_is_kept;
alter table holdfast.approver enable always trigger approver_is_not_truncated;

-- Names as they are compared: "Ann " must not be a second pair of eyes beside "ann".
create or replace function holdfast.person(p_name text) returns text
language sql immutable parallel safe
return lower(btrim(p_name));

-- What a decision is about. jsonb writes equal objects alike, whatever the order of their keys.
create or replace function holdfast.bound_hash(
  p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum int) returns text
language sql immutable parallel safe
return encode(sha256(convert_to(jsonb_build_object('job', p_job, 'payload', p_payload, 'name', p_name, 'question', p_question,
         'facts', p_facts, 'approvers', to_jsonb(p_approvers), 'quorum', p_quorum)::text, 'UTF8')), 'hex');

-- -- history: what a move from or to WAITING_FOR_APPROVAL is about ---------------------------------------------------------

create or replace function holdfast.told_of_gate(p_approval uuid) returns jsonb
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select jsonb_build_object('approval', jsonb_strip_nulls(jsonb_build_object('id', a.id, 'name', a.name, 'question', a.question,
           'approvers', a.approvers, 'quorum', a.quorum, 'expires_at', a.expires_at, 'on_expiry', a.on_expiry)))
    from holdfast.approval a
   where a.id = p_approval
$$;

-- Refuses to let a job go whose approval nobody has decided, whoever writes. The newest is the newest attempt's: who asks has ended his
-- attempt, and the clock may have been set back since.
create or replace function holdfast.told_of_decision(p_job uuid) returns jsonb
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval;
begin
  select * into v_gate from holdfast.approval a where a.job_id = p_job order by a.attempt desc, a.id desc limit 1;
  if not found then
    return null;
  end if;
  if v_gate.decided_at is null then
    perform holdfast.count_refusal();
    raise exception 'job % waits for approval %, which nobody has decided', p_job, v_gate.id
      using errcode = 'HF001', hint = 'Decide it (holdfast approval approve or deny), or cancel the job.';
  end if;
  return jsonb_build_object('approval', jsonb_strip_nulls(jsonb_build_object('id', v_gate.id, 'name', v_gate.name,
           'decision', v_gate.decision, 'by', v_gate.decided_by, 'at', v_gate.decided_at, 'from', v_gate.decided_from, 'reason', v_gate.reason)));
end $$;

-- What the history tells of a move beside its columns. An error that is no object is refused in a moment (broken_rule).
create or replace function holdfast.told_of_move(
  p_job uuid, p_from holdfast.job_status, p_to holdfast.job_status, p_approval uuid, p_error jsonb, p_retries int, p_crashes int, p_due_at timestamptz)
returns jsonb
language sql volatile
return case p_to
    when 'FAILED' then case when jsonb_typeof(p_error) = 'object' then p_error - 'traceback' end
      || case when p_from = 'WAITING_FOR_APPROVAL' then coalesce(holdfast.told_of_decision(p_job), '{}') else '{}' end
    when 'RUNNING' then case when p_from = 'WAITING_FOR_APPROVAL' then holdfast.told_of_decision(p_job) end
    when 'WAITING_FOR_APPROVAL' then holdfast.told_of_gate(p_approval)
    when 'RETRY' then jsonb_strip_nulls(jsonb_build_object(
      'retry_count', p_retries, 'crash_count', nullif(p_crashes, 0), 'due_at', p_due_at,
      'error', case when jsonb_typeof(p_error) = 'object' then p_error - 'traceback' end))
  end;

-- The rule that a waiting job in line or due breaks, unless people have let it go on.
create or replace function holdfast.unapproved(p_approval uuid) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'a job that waits for a person is not due and not in line before it is approved'
   where not exists (select from holdfast.approval a where a.id = p_approval and a.decision = 'approved')
$$;

-- -- asking --------------------------------------------------------------------------------------------------------------

-- What a gate says, checked. p_gate is {"question", "facts", "approvers", "quorum", "expires_in" (seconds), "on_expiry", "self_approval", "bulk"}.
create or replace function holdfast.read_gate(p_job holdfast.job, p_attempt int, p_name text, p_gate jsonb) returns holdfast.approval
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval;
  v_able int;
  v_problem text;
begin
  v_gate.id := holdfast.new_id();
  v_gate.job_id := p_job.id;
  v_gate.attempt := p_attempt;
  v_gate.name := p_name;
  v_gate.question := p_gate ->> 'question';
  v_gate.facts := coalesce(nullif(p_gate -> 'facts', 'null'), '{}');
  if jsonb_typeof(coalesce(p_gate -> 'approvers', '[]')) <> 'array' then
    v_problem := 'approvers are a list of names';
  else
    -- Sorted: the same people are the same gate, in whatever order a program names them.
    select coalesce(array_agg(distinct a order by a), '{}') into v_gate.approvers from jsonb_array_elements_text(p_gate -> 'approvers') as a;
  end if;
  v_gate.quorum := coalesce((p_gate ->> 'quorum')::int, 1);
  v_gate.requester := p_job.requested_by;
  v_gate.self_approval := coalesce((p_gate ->> 'self_approval')::boolean, false);
  v_gate.bulk := coalesce((p_gate ->> 'bulk')::boolean, false);
  v_gate.asked_at := holdfast.clock();
  v_gate.expires_at := v_gate.asked_at + make_interval(secs => (p_gate ->> 'expires_in')::float8);
  v_gate.on_expiry := coalesce(p_gate ->> 'on_expiry', 'fail');
  v_gate.wrong_tries := '{}';
  v_able := (select count(distinct holdfast.person(a)) from unnest(v_gate.approvers) as a
              where v_gate.self_approval or holdfast.person(a) is distinct from holdfast.person(v_gate.requester));
  v_problem := coalesce(v_problem, case
    when coalesce(length(v_gate.question), 0) not between 1 and 2000 then 'the question has 1 to 2,000 characters'
    when jsonb_typeof(v_gate.facts) <> 'object' then 'facts are an object'
    when octet_length(v_gate.facts::text) > 65536 then 'facts have at most 65,536 bytes: people are to read them'
    when exists (select from unnest(v_gate.approvers) as a where a is null or length(a) not between 1 and 200 or a <> btrim(a))
      then 'an approver''s name has 1 to 200 characters and no space around it'
    when 'system' = any (v_gate.approvers) then '"system" is the clock''s own name'
    when cardinality(v_gate.approvers) > 100 then 'at most 100 approvers are named'
    when v_gate.quorum not between 1 and 100 then 'the quorum is 1 to 100'
    when cardinality(v_gate.approvers) > 0 and v_able < v_gate.quorum
      then format('a quorum of %s can never be reached: %s of the approvers may decide (the requester may not, unless self_approval is set)', v_gate.quorum, v_able)
    when v_gate.expires_at <= v_gate.asked_at then 'it must not expire before it is asked'
    when v_gate.on_expiry not in ('fail', 'deny', 'approve') then 'on_expiry is fail, deny or approve'
  end);
  if v_problem is not null then
    raise exception 'approval % cannot be asked for: %', quote_literal(p_name), v_problem using errcode = 'HF005', hint = 'Nobody was asked.';
  end if;
  v_gate.bound_hash := holdfast.bound_hash(p_job.id, p_job.payload, v_gate.name, v_gate.question, v_gate.facts, v_gate.approvers, v_gate.quorum);
  return v_gate;
end $$;

-- Asks, and the attempt is over (decision is null); or, for the attempt that comes by again once it is approved, saves
-- the decision as a step and answers it.
create or replace function holdfast.ask(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_after text, p_gate jsonb, p_logs jsonb, out approval_id uuid, out decision text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
  v_asked holdfast.approval;
  v_gate holdfast.approval;
begin
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  select * into v_asked from holdfast.approval a where a.job_id = p_job and a.name = p_name;
  if v_asked.attempt = p_attempt and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id then
    approval_id := v_asked.id;   -- the answer to the first call was lost
    return;
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_gate := holdfast.read_gate(v_job, p_attempt, p_name, p_gate);
  if v_asked.id is null then
    approval_id := v_gate.id;
    perform holdfast.begin_waiting(v_job, v_gate, p_logs);
    return;
  end if;
  approval_id := v_asked.id;
  if v_asked.bound_hash <> v_gate.bound_hash then
    raise exception 'approval % of job % was given for another question, other facts or other approvers than this attempt asks with', quote_literal(p_name), p_job
      using errcode = 'HF021', hint = 'Question and facts must be the same in every attempt: make them from the payload and from saved steps.';
  end if;
  if v_asked.decision is distinct from 'approved' then
    raise exception 'approval % of job % is %, and yet the job runs', quote_literal(p_name), p_job, coalesce(v_asked.decision, 'undecided') using errcode = 'HF001';
  end if;
  decision := holdfast.decision_of(v_asked)::text;
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value)
  values (p_job, p_name, 'approval', p_after, p_attempt, v_asked.asked_at, greatest(holdfast.clock(), v_asked.asked_at), decision::jsonb)
  on conflict do nothing;
end $$;

create or replace function holdfast.begin_waiting(p_job holdfast.job, p_gate holdfast.approval, p_logs jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_name text := holdfast.holder_name(p_job.holder);
  v_actor text := current_setting('holdfast.actor', true);
begin
  insert into holdfast.approval (id, job_id, attempt, name, question, facts, approvers, quorum, requester, self_approval, bulk, bound_hash,
                                 asked_at, expires_at, on_expiry)
  values (p_gate.id, p_gate.job_id, p_gate.attempt, p_gate.name, p_gate.question, p_gate.facts, p_gate.approvers, p_gate.quorum,
          p_gate.requester, p_gate.self_approval, p_gate.bulk, p_gate.bound_hash, p_gate.asked_at, p_gate.expires_at, p_gate.on_expiry);
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'WAITING_FOR_APPROVAL', approval_id = p_gate.id, holder = null, deadline_at = null, claim_order = null, due_at = null,
         held_by = null, suspect = false, reason = 'asks for approval ' || p_gate.name
   where j.id = p_job.id;
  perform holdfast.keep_logs(p_job, v_name, 'waiting', p_logs);
  -- Neither the question nor the approvers: the feed's readers may not know what people are asked.
  perform holdfast.note(p_job.id, 'approval.asked', v_name, jsonb_strip_nulls(jsonb_build_object('approval', p_gate.id, 'name', p_gate.name,
            'quorum', p_gate.quorum, 'expires_at', p_gate.expires_at)));
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);
end $$;

-- What the task gets: who let it go on, when, from where and why.
create or replace function holdfast.decision_of(p_gate holdfast.approval) returns jsonb
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select jsonb_build_object('approval_id', p_gate.id, 'decided_by', p_gate.decided_by, 'decided_at', p_gate.decided_at,
           'origin', p_gate.decided_from, 'reason', p_gate.reason,
           'approved_by', coalesce((select jsonb_agg(d.who order by d.at, d.who) from holdfast.approval_decision d where d.approval_id = p_gate.id), '[]'))
$$;

-- -- deciding ------------------------------------------------------------------------------------------------------------

-- Locks an approval with its job, and lets time have its say first: a decision after the deadline is too late, swept or not.
create or replace function holdfast.open_approval(p_approval uuid) returns holdfast.approval
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval;
begin
  select * into v_gate from holdfast.approval a where a.id = p_approval;
  perform from holdfast.job j where j.id = v_gate.job_id and holdfast.may_touch(j.tenant) for no key update;
  if not found then
    return null;
  end if;
  select * into v_gate from holdfast.approval a where a.id = p_approval for no key update;
  if v_gate.decided_at is null and v_gate.expires_at <= holdfast.clock() then
    perform holdfast.settle_expiry(v_gate);
    select * into v_gate from holdfast.approval a where a.id = p_approval;
  end if;
  return v_gate;
end $$;

-- Writes the one decision and what follows from it. The caller has locked the job and the undecided approval.
create or replace function holdfast.conclude(p_gate holdfast.approval, p_decision text, p_who text, p_origin text, p_reason text, p_error jsonb)
returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_actor text := current_setting('holdfast.actor', true);
  v_queue text;
begin
  update holdfast.approval a
     set decided_at = v_now, decision = p_decision, decided_by = p_who, decided_from = p_origin, reason = p_reason
   where a.id = p_gate.id and a.decided_at is null;
  perform set_config('holdfast.actor', p_who, true);
  perform holdfast.note(p_gate.job_id, 'approval.decided', p_who, jsonb_build_object('approval', p_gate.id, 'name', p_gate.name, 'decision', p_decision));
  if p_decision = 'approved' then
    update holdfast.job j
       set claim_order = case when j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
           due_at = case when j.ties & 1 = 1 then v_now end, held_by = null, reason = 'approved by ' || p_who
     where j.id = p_gate.job_id and j.status = 'WAITING_FOR_APPROVAL' and j.approval_id = p_gate.id
    returning j.queue into v_queue;
    perform holdfast.wake(array[v_queue]);
  else
    update holdfast.job j
       set status = 'FAILED', approval_id = null, claim_order = null, due_at = null, held_by = null, error = p_error, reason = p_reason
     where j.id = p_gate.job_id and j.status = 'WAITING_FOR_APPROVAL' and j.approval_id = p_gate.id;
  end if;
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);
end $$;

create or replace function holdfast.approval_error(p_type text, p_message text) returns jsonb
language sql immutable parallel safe
return jsonb_build_object('type', p_type, 'kind', 'approval', 'recoverable', false, 'message', p_message);

-- What the gate says about nobody having decided in time.
create or replace function holdfast.settle_expiry(p_gate holdfast.approval) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_reason text := format('nobody decided before %s', to_char(p_gate.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
begin
  if p_gate.on_expiry in ('deny', 'approve') then
    insert into holdfast.approval_decision (approval_id, who, decision, reason, how, at, bound_hash)
    values (p_gate.id, 'system', p_gate.on_expiry, v_reason, 'system', holdfast.clock(), p_gate.bound_hash);
  end if;
  case p_gate.on_expiry
    when 'approve' then
      perform holdfast.conclude(p_gate, 'approved', 'system', null, v_reason, null);
    when 'deny' then
      perform holdfast.conclude(p_gate, 'denied', 'system', null, v_reason,
                holdfast.approval_error('ApprovalDenied', format('approval %s was denied by system: %s', p_gate.name, v_reason)));
    else
      perform holdfast.conclude(p_gate, 'expired', 'system', null, v_reason,
                holdfast.approval_error('ApprovalExpired', format('approval %s expired: %s', p_gate.name, v_reason)));
  end case;
end $$;

-- Called by sweep. Skips what somebody is at: whoever decides late settles the expiry himself.
create or replace function holdfast.expire_approvals(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_id uuid;
  v_job uuid;
  v_gate holdfast.approval;
  v_count bigint := 0;
begin
  for v_id, v_job in
    select e.id, e.job_id
      from (select a.id, a.job_id
              from holdfast.approval a
             where a.decided_at is null and a.expires_at is not null and a.expires_at <= holdfast.clock()
             order by a.expires_at
             limit p_limit) as e
     order by e.job_id
  loop
    perform from holdfast.job j where j.id = v_job for no key update skip locked;
    if found then
      select * into v_gate from holdfast.approval a where a.id = v_id and a.decided_at is null for no key update skip locked;
      if found then
        perform holdfast.settle_expiry(v_gate);
        v_count := v_count + 1;
      end if;
    end if;
  end loop;
  return v_count;
end $$;

-- Why this voice does not count, or null.
create or replace function holdfast.objection(p_gate holdfast.approval, p_who text, p_decision text, p_reason text, p_seen_hash text) returns text
language sql immutable parallel safe
return case
    when not p_gate.self_approval and holdfast.person(p_who) = holdfast.person(p_gate.requester)
      then 'whoever asked for the job does not decide; cancel the job to withdraw it'
    when cardinality(p_gate.approvers) > 0 and not exists (select from unnest(p_gate.approvers) as a where holdfast.person(a) = holdfast.person(p_who))
      then format('only %s may decide', array_to_string(p_gate.approvers, ', '))
    when p_seen_hash is not null and p_seen_hash <> p_gate.bound_hash then 'what was shown is not what is asked: look at it again'
    when p_decision = 'deny' and coalesce(btrim(p_reason), '') = '' then 'a denial needs a reason'
  end;

create or replace function holdfast.how_it_stands(p_approval uuid, p_result text) returns holdfast.answer
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select p_result, a.job_id, a.decision, a.decided_by, a.decided_at, a.reason,
         (select count(distinct holdfast.person(d.who))::int from holdfast.approval_decision d where d.approval_id = a.id and d.decision = 'approve'),
         a.quorum::int, null::text
    from holdfast.approval a
   where a.id = p_approval
$$;

-- One voice. The caller has locked the approval and knows whose voice it is.
create or replace function holdfast.vote(
  p_gate holdfast.approval, p_who text, p_how text, p_decision text, p_reason text, p_origin text, p_seen_hash text) returns holdfast.answer
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_answer holdfast.answer;
  v_problem text;
begin
  if p_gate.decided_at is not null then
    return holdfast.how_it_stands(p_gate.id, 'already');
  end if;
  v_problem := holdfast.objection(p_gate, p_who, p_decision, p_reason, p_seen_hash);
  if v_problem is not null then
    v_answer := holdfast.how_it_stands(p_gate.id, 'refused');
    v_answer.problem := v_problem;
    return v_answer;
  end if;
  insert into holdfast.approval_decision (approval_id, who, decision, reason, origin, how, at, bound_hash)
  values (p_gate.id, p_who, p_decision, nullif(btrim(p_reason), ''), p_origin, p_how, holdfast.clock(), p_gate.bound_hash)
  on conflict do nothing;   -- the same voice again counts once
  v_answer := holdfast.how_it_stands(p_gate.id, 'counted');
  if p_decision = 'deny' then
    perform holdfast.conclude(p_gate, 'denied', p_who, p_origin, btrim(p_reason),
              holdfast.approval_error('ApprovalDenied', format('approval %s was denied by %s: %s', p_gate.name, p_who, btrim(p_reason))));
  elsif v_answer.approvals >= p_gate.quorum then
    perform holdfast.conclude(p_gate, 'approved', p_who, p_origin, nullif(btrim(p_reason), ''), null);
  else
    perform holdfast.note(p_gate.job_id, 'approval.counted', p_who, jsonb_build_object('approval', p_gate.id, 'name', p_gate.name,
              'approvals', v_answer.approvals, 'quorum', p_gate.quorum));
    return v_answer;
  end if;
  return holdfast.how_it_stands(p_gate.id, 'decided');
end $$;

create or replace function holdfast.check_words(p_decision text, p_reason text, p_origin text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_decision is null or p_decision not in ('approve', 'deny') then
    raise exception 'decision % is not approve or deny', quote_nullable(p_decision) using errcode = 'HF005';
  end if;
  if length(p_reason) > 2000 or length(p_origin) > 500 then
    raise exception 'a reason has at most 2,000 characters, an origin at most 500' using errcode = 'HF005', hint = 'Nothing was decided.';
  end if;
end $$;

create or replace function holdfast.check_voter(p_actor text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if coalesce(length(btrim(p_actor)), 0) not between 1 and 200 or holdfast.person(p_actor) = 'system' then
    raise exception 'an approval is decided by somebody: % is nobody''s name', quote_nullable(left(p_actor, 200)) using errcode = 'HF005';
  end if;
end $$;

create or replace function holdfast.unknown_approval() returns holdfast.answer
language sql immutable parallel safe
return row('unknown', null, null, null, null, null, null, null, null)::holdfast.answer;

-- Decides for a person; the caller vouches for who it is.
create or replace function holdfast.decide(
  p_approval uuid, p_actor text, p_decision text, p_reason text default null, p_origin text default null, p_seen_hash text default null)
returns holdfast.answer
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval;
begin
  perform holdfast.check_words(p_decision, p_reason, p_origin);
  perform holdfast.check_voter(p_actor);
  v_gate := holdfast.open_approval(p_approval);
  if v_gate.id is null then
    return holdfast.unknown_approval();
  end if;
  return holdfast.vote(v_gate, btrim(p_actor), 'person', p_decision, p_reason, p_origin, p_seen_hash);
end $$;

-- Approves several for a person, each as if it were alone: with its own voice, bound to what was seen of it, and its own answer. Only
-- gates that say so are decided like this.
create or replace function holdfast.approve_together(
  p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text default null, p_origin text default null)
returns table (approval_id uuid, result text, job_id uuid, decision text, decided_by text, decided_at timestamptz, reason text, approvals int,
               quorum int, problem text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_id uuid;
  v_seen_hash text;
  v_gate holdfast.approval;
  v_answer holdfast.answer;
begin
  perform holdfast.check_words('approve', p_reason, p_origin);
  perform holdfast.check_voter(p_actor);
  if cardinality(p_approvals) > 100 or cardinality(p_approvals) is distinct from cardinality(p_seen_hashes) or array_position(p_seen_hashes, null) is not null then
    raise exception 'at most 100 approvals are given together, each with what was seen of it' using errcode = 'HF005', hint = 'Nothing was decided.';
  end if;
  perform holdfast.lock_jobs(array(select a.job_id from holdfast.approval a where a.id = any (p_approvals)));
  for v_id, v_seen_hash in
    select u.id, u.seen
      from unnest(p_approvals, p_seen_hashes) as u (id, seen)
     order by (select a.job_id from holdfast.approval a where a.id = u.id), u.id
  loop
    v_gate := holdfast.open_approval(v_id);
    if v_gate.id is null then
      v_answer := holdfast.unknown_approval();
    elsif v_gate.decided_at is null and not v_gate.bulk then
      v_answer := holdfast.how_it_stands(v_id, 'refused');
      v_answer.problem := 'its gate does not let it be approved together with others: decide it alone';
    else
      v_answer := holdfast.vote(v_gate, btrim(p_actor), 'person', 'approve', p_reason, p_origin, v_seen_hash);
    end if;
    return query select v_id, (v_answer).*;
  end loop;
end $$;

-- Whose newest token this is, or null. Without a right token every answer is the same, and after five wrong ones within a minute no
-- token is looked at. Hashes are compared: how long that takes says nothing about a token. The caller has locked the approval.
create or replace function holdfast.token_holder(p_gate holdfast.approval, p_token_hash bytea) returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_name text;
begin
  if p_gate.id is null
     or (cardinality(p_gate.wrong_tries) >= 5 and p_gate.wrong_tries[1] > holdfast.clock() - interval '1 minute') then
    return null;
  end if;
  select r.name into v_name
    from holdfast.approver r
   where r.approval_id = p_gate.id and r.token_hash = p_token_hash and r.used_at is null;
  if not found then
    update holdfast.approval a
       set wrong_tries = a.wrong_tries[greatest(cardinality(a.wrong_tries) - 3, 1):] || holdfast.clock()
     where a.id = p_gate.id;
  end if;
  return v_name;
end $$;

-- Decides for whoever holds the newest token of an approver.
create or replace function holdfast.decide_by_token(
  p_approval uuid, p_token_hash bytea, p_decision text, p_reason text default null, p_origin text default null, p_seen_hash text default null)
returns holdfast.answer
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval;
  v_name text;
  v_answer holdfast.answer;
begin
  perform holdfast.check_words(p_decision, p_reason, p_origin);
  v_gate := holdfast.open_approval(p_approval);
  v_name := holdfast.token_holder(v_gate, p_token_hash);
  if v_name is null then
    return holdfast.unknown_approval();
  end if;
  v_answer := holdfast.vote(v_gate, v_name, 'token', p_decision, p_reason, p_origin, p_seen_hash);
  if v_answer.result in ('decided', 'counted') then
    update holdfast.approver r set used_at = holdfast.clock() where r.approval_id = p_approval and r.name = v_name;
  end if;
  return v_answer;
end $$;

-- What whoever holds the newest token of an approver is asked, and how it stands; no row for everybody else. Decides nothing, and
-- a wrong token counts as a wrong token that decides does.
create or replace function holdfast.look_by_token(p_approval uuid, p_token_hash bytea)
returns table (approver text, tenant text, task text, question text, facts text, requester text, quorum int, approvals int, expires_at timestamptz,
               on_expiry text, bound_hash text, decision text, decided_by text, decided_at timestamptz, reason text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval := holdfast.open_approval(p_approval);
  v_name text := holdfast.token_holder(v_gate, p_token_hash);
begin
  return query
    select v_name, j.tenant::text, j.task::text, v_gate.question, v_gate.facts::text, v_gate.requester, v_gate.quorum::int,
           (holdfast.how_it_stands(v_gate.id, 'seen')).approvals, v_gate.expires_at, v_gate.on_expiry, v_gate.bound_hash,
           v_gate.decision, v_gate.decided_by, v_gate.decided_at, v_gate.reason
      from holdfast.job j
     where j.id = v_gate.job_id and v_name is not null;
end $$;

-- Gives an approver a token, of which only the hash comes here; an older one is void from now on. Answers what there is to deliver.
create or replace function holdfast.mint_token(
  p_approval uuid, p_approver text, p_token_hash bytea,
  out job_id uuid, out name text, out question text, out facts text, out approver text, out quorum int, out expires_at timestamptz,
  out on_expiry text, out bound_hash text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate holdfast.approval := holdfast.open_approval(p_approval);
begin
  if v_gate.id is null then
    raise exception 'no approval has the id %', p_approval using errcode = 'HF020';
  end if;
  if v_gate.decided_at is not null then
    raise exception 'approval % is % by % already: there is nothing to ask any more', p_approval, v_gate.decision, v_gate.decided_by
      using errcode = 'HF022', detail = holdfast.closed_detail(v_gate);
  end if;
  approver := (select a from unnest(v_gate.approvers) as a where holdfast.person(a) = holdfast.person(p_approver) limit 1);
  if approver is null then
    raise exception '% is no approver of approval %', quote_nullable(left(p_approver, 200)), p_approval
      using errcode = 'HF005', hint = 'Tokens are for the approvers that the gate names; others decide as authorised persons.';
  end if;
  if not v_gate.self_approval and holdfast.person(approver) = holdfast.person(v_gate.requester) then
    raise exception '% asked for the job and does not decide approval %', quote_literal(approver), p_approval using errcode = 'HF005';
  end if;
  if octet_length(p_token_hash) is distinct from 32 then
    raise exception 'a token is known by its SHA-256, which has 32 bytes' using errcode = 'HF005';
  end if;
  insert into holdfast.approver as r (approval_id, name, token_hash, minted_at)
  values (p_approval, approver, p_token_hash, holdfast.clock())
  on conflict on constraint approver_pkey do update set token_hash = excluded.token_hash, minted_at = excluded.minted_at, used_at = null;
  job_id := v_gate.job_id;
  name := v_gate.name;
  question := v_gate.question;
  facts := v_gate.facts::text;
  quorum := v_gate.quorum;
  expires_at := v_gate.expires_at;
  on_expiry := v_gate.on_expiry;
  bound_hash := v_gate.bound_hash;
end $$;

create or replace function holdfast.closed_detail(p_gate holdfast.approval) returns text
language sql immutable parallel safe
return jsonb_build_object('approval', p_gate.id, 'decision', p_gate.decision, 'by', p_gate.decided_by, 'at', p_gate.decided_at)::text;

-- -- when the job ends otherwise ------------------------------------------------------------------------------------------

-- Called by follow_up: a cancelled job asks nobody any more.
create or replace function holdfast.close_approvals(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  update holdfast.approval a
     set decided_at = holdfast.clock(), decision = 'cancelled', decided_by = holdfast.actor(),
         reason = (select j.reason from holdfast.job j where j.id = a.job_id)
   where a.job_id = any (p_ids) and a.decided_at is null
     and (select j.status = 'CANCELLED' from holdfast.job j where j.id = a.job_id);
end $$;

-- Called by retention, which has said so for its transaction.
create or replace function holdfast.remove_approvals(p_ids uuid[]) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  delete from holdfast.approval_decision d
   where d.approval_id in (select a.id from holdfast.approval a where a.job_id = any (p_ids));
  delete from holdfast.approver r
   where r.approval_id in (select a.id from holdfast.approval a where a.job_id = any (p_ids));
  delete from holdfast.approval a where a.job_id = any (p_ids);
$$;
