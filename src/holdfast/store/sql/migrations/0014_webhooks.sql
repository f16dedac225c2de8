-- What other systems told us: one row an event, written in the transaction of what came of it.

create table holdfast.webhook_delivery (
  id          uuid primary key,
  endpoint    holdfast.name not null,
  event_id    holdfast.long_name not null,               -- the sender's: a repeat has the same
  type        holdfast.name not null,
  tenant      holdfast.name,                             -- the endpoint's, never the body's
  status      text not null,
  body        bytea not null,                            -- as it came: text of theirs need not fit our text
  received_at timestamptz not null default holdfast.clock(),
  ended_at    timestamptz not null default holdfast.clock(),   -- when it was handled, or failed last
  tries       int not null default 1,                    -- how often a handler was called for what was sent
  replays     int not null default 0,                    -- how often an operator called it again
  replayed_by text,
  error       text,
  jobs        uuid[] not null default '{}',              -- those born with it
  -- Two of one event at the same time: the second waits here for the first, and finds that it was handled.
  constraint webhook_event_is_handled_once unique (endpoint, event_id),
  constraint webhook_status_is_known check (status in ('handled', 'ignored', 'failed')),
  constraint webhook_error_is_of_failures check ((error is not null) = (status = 'failed'))
) with (fillfactor = 80);
create index webhook_delivery_of_endpoint on holdfast.webhook_delivery (endpoint, id desc);                       -- lists
create index webhook_delivery_of_tenant on holdfast.webhook_delivery (tenant, id desc) where tenant is not null;  -- lists
create index webhook_delivery_failed on holdfast.webhook_delivery (id desc) where status = 'failed';              -- lists
create index webhook_delivery_by_age on holdfast.webhook_delivery (ended_at);                                     -- upkeep
