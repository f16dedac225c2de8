-- Approvals: what people are asked before a job goes on, who may answer, and what they answered.

-- What was asked never changes; the rest is written once, when it is decided.
create table holdfast.approval (
  id            uuid primary key default holdfast.new_id(),
  job_id        uuid not null,
  attempt       int not null,                            -- that asked
  name          holdfast.long_name not null,             -- with its counter: refund, refund#2
  question      text not null,
  facts         jsonb not null,
  approvers     text[] not null,                         -- empty: whoever is authorised
  quorum        smallint not null,
  requester     text,
  self_approval boolean not null,
  bound_hash    text not null,                           -- of all that the answer is about: holdfast.bound_hash
  asked_at      timestamptz not null,
  expires_at    timestamptz,
  on_expiry     text not null,
  wrong_tries   timestamptz[] not null default '{}',     -- the newest wrong tokens, at most five
  decided_at    timestamptz,
  decision      text,
  decided_by    text,
  decided_from  text,
  reason        text,
  constraint approval_is_asked_once unique (job_id, name),                                       -- ask, history
  constraint approval_question_has_1_to_2000_characters check (question <> '' and length(question) <= 2000),
  constraint approval_facts_are_an_object check (jsonb_typeof(facts) = 'object'),
  constraint approval_quorum_is_1_to_100 check (quorum between 1 and 100),
  constraint approval_on_expiry_is_known check (on_expiry in ('fail', 'deny', 'approve')),
  constraint approval_decision_is_known check (decision in ('approved', 'denied', 'expired', 'cancelled')),
  constraint approval_decision_has_a_time_and_a_name check ((decision is null) = (decided_at is null) and (decision is null) = (decided_by is null))
) with (fillfactor = 70);
create index approval_open on holdfast.approval (id desc) where decided_at is null;              -- lists
create index approval_expiring on holdfast.approval (expires_at) where decided_at is null and expires_at is not null;  -- expire_approvals

-- The newest token of an approver: only its hash, replaced by every delivery.
create table holdfast.approver (
  approval_id uuid not null,
  name        text not null,
  token_hash  bytea not null,
  minted_at   timestamptz not null,
  used_at     timestamptz,
  primary key (approval_id, name),
  constraint approver_token_hash_is_sha256 check (octet_length(token_hash) = 32)
);

create table holdfast.approval_decision (
  approval_id uuid not null,
  who         text not null,
  decision    text not null,
  reason      text,
  origin      text,                                      -- from where: an address, a program
  how         text not null,
  at          timestamptz not null,
  bound_hash  text not null,
  primary key (approval_id, who, decision),              -- nobody counts twice
  constraint approval_decision_is_approve_or_deny check (decision in ('approve', 'deny')),
  constraint approval_decision_way_is_known check (how in ('token', 'person', 'system')),
  constraint approval_denial_has_a_reason check (decision = 'approve' or reason is not null)
);

-- What both ways of deciding answer.
create type holdfast.answer as (
  result text,                                           -- decided, counted, already, refused, unknown
  job_id uuid,
  decision text, decided_by text, decided_at timestamptz, reason text,
  approvals int, quorum int,
  problem text);                                         -- why it was refused

-- It tells of expired approvals now.
drop function if exists holdfast.sweep(int);
