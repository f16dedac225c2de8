-- Compensations are jobs of the task that they undo: without them counted apart, each failure that was undone would look half a success.

alter table holdfast.statistic
  add column undo_completed bigint not null default 0,   -- of those that completed: they undid another job
  add column undo_failed bigint not null default 0;      -- of those that failed
