-- What somebody wishes of a worker from afar; its heartbeat reads it.

alter table holdfast.worker
  add column wish text,                                  -- quiet: claim no more; stop: finish what runs and end
  add column wished_at timestamptz,
  add column wished_by text,
  add column wished_for text;
alter table holdfast.worker
  add constraint worker_wish_is_known check (wish in ('quiet', 'stop')) not valid,
  add constraint worker_wish_reason_has_500_characters_at_most check (length(wished_for) <= 500) not valid;
alter table holdfast.worker validate constraint worker_wish_is_known;
alter table holdfast.worker validate constraint worker_wish_reason_has_500_characters_at_most;
