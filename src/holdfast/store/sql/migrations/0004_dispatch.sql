-- Jobs in the hands of outside executors, and the callbacks they have sent.

-- One row an attempt that was handed over. It is written before anybody is called; the job's holder is its id.
create table holdfast.dispatch (
  id               uuid primary key default gen_random_uuid(),
  job_id           uuid not null,
  attempt          int not null,
  claim_id         uuid not null,
  executor         holdfast.name not null,
  inputs           holdfast.json_object not null,
  state            text not null default 'planned',
  created_at       timestamptz not null,
  next_try_at      timestamptz,                          -- when the executor is called next; while it is called, when another may take over
  tries            int not null default 0,
  doubtful         boolean not null default false,       -- a call was begun and its outcome is not known: a run may exist
  taken_by         uuid,                                 -- the worker that called last
  sent_at          timestamptz,
  started_at       timestamptz,                          -- its first callback
  seen_at          timestamptz,                          -- its last callback
  over_at          timestamptz,
  run_ref          text,                                 -- the run as the executor named it when it was called
  run_id           text,                                 -- the run that reported first; no other may speak
  run_url          text,
  heartbeat_limit  interval not null,
  run_limit        interval not null,
  retry_in         interval not null,                    -- the task's backoff for this attempt
  cancel_wanted_at timestamptz,
  cancelled_at     timestamptz,
  cancel_tries     int not null default 0,
  ended_at         timestamptz,                          -- when it was heard that the run has stopped, after it was given up
  error            jsonb,                                -- of the last call that failed
  logs             jsonb,                                -- of the attempt, until it ends
  constraint dispatch_state_is_known check (state in ('planned', 'calling', 'sent', 'over')),
  constraint dispatch_is_one_an_attempt unique (job_id, attempt),           -- hand_over, callback, stop_runs
  constraint heartbeat_limit_is_positive check (heartbeat_limit > interval '0'),
  constraint run_limit_is_positive check (run_limit > interval '0'),
  constraint retry_in_is_not_negative check (retry_in >= interval '0')
) with (fillfactor = 70);
create index dispatch_due on holdfast.dispatch (next_try_at) where next_try_at is not null;      -- take_dispatches
create index dispatch_out on holdfast.dispatch (job_id) where state = 'sent';                    -- check_runs

-- What was answered to which callback, so that a repeat gets the same answer. Kept for longer than a signature stays valid.
create table holdfast.callback_nonce (
  job_id    uuid not null,
  nonce     holdfast.name not null,
  body_hash bytea not null,
  answer    text not null,
  at        timestamptz not null,
  primary key (job_id, nonce)
);
create index callback_nonce_by_age on holdfast.callback_nonce (at);                              -- forget_nonces
