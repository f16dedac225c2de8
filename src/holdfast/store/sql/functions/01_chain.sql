-- The chain: a digest over all that a job's history says, each row bound to those before it. Its head stands on the job's own row, which
-- every move writes anyway: no row before is looked for. The auditor computes it anew from the history (audit_chain.sql).

-- What a history row says, as bytes that are the same on every server, whatever the session's time zone, date style, client encoding or
-- float digits are. Fixed widths first, then how long the texts are, then the texts as UTF-8. Seq, attempt and where the move began are
-- not in it: the order of the rows says what they must be (A02, A03, A08).
create or replace function holdfast.said(p_to holdfast.job_status, p_at timestamptz, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb)
returns bytea
language sql stable parallel safe
return timestamptz_send(p_at) || int8send(p_xid) || int4send(length(p_actor)) || int4send(coalesce(length(p_reason), -1))
    || convert_to(p_to::text || ' ' || p_actor || coalesce(p_reason, '') || coalesce(p_metadata::text, ''), 'UTF8');

-- The head behind a row: p_before is the head before it, of the first row the bytes of the job's id. Since when what ended had been so
-- stands apart: most moves of a statement say the same but for that. Where it says nothing, bytes stand that are no time's: those of
-- -infinity end in 0. Bound at its creation: the planner merges it into the update.
create or replace function holdfast.linked(p_before bytea, p_since timestamptz, p_said bytea) returns bytea
language sql stable parallel safe
return sha256(p_before || coalesce(timestamptz_send(p_since), '\x8000000000000001') || p_said);

-- The head behind each history row of jobs of a range, as the history is now. Volatile: whoever waited for a job's lock must see what it
-- waited for.
create or replace function holdfast.heads(p_first uuid, p_last uuid) returns table (job_id uuid, seq int, head bytea)
language plpgsql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_row record;
begin
  for v_row in
    select h.job_id, h.seq, h.to_status, h.since, h.at, h.xid, h.actor, h.reason, h.metadata
      from holdfast.job_history h
     where h.job_id >= p_first and h.job_id <= p_last
     order by h.job_id, h.seq
  loop
    head := holdfast.linked(case when v_row.job_id = job_id then head else uuid_send(v_row.job_id) end, v_row.since,
              holdfast.said(v_row.to_status, v_row.at, v_row.xid, v_row.actor, v_row.reason, v_row.metadata));
    job_id := v_row.job_id;
    seq := v_row.seq;
    return next;
  end loop;
end $$;

-- The head of a job that has none on its row: it is from before there were chains.
create or replace function holdfast.head_of(p_job uuid) returns bytea
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select h.head from holdfast.heads(p_job, p_job) as h order by h.seq desc limit 1
$$;

create or replace function holdfast.link_birth() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  new.chain := holdfast.linked(uuid_send(new.id), null,
    holdfast.said(new.status, new.updated_at, pg_current_xact_id()::text::bigint, holdfast.made_by(new.retry_of, new.requested_by), new.reason,
      holdfast.told_of_birth(new.retry_of, new.due_at, new.held_by)));
  return new;
end $$;

create or replace trigger link_birth before insert on holdfast.job
  for each row when (new.chain is null) execute function holdfast.link_birth();
alter table holdfast.job enable always trigger link_birth;

-- Since when: what has not moved since then has no chain, and that is no finding.
insert into holdfast.installed (what, checksum) values ('chain', '') on conflict (what) do nothing;
