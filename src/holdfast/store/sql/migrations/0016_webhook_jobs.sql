-- An event's jobs are those that its transaction made: its row is written once.

drop function if exists holdfast.end_webhook;
alter table holdfast.webhook_delivery add column xid bigint;   -- null: all its jobs are written down
