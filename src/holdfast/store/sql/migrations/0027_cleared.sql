-- Whether the line of a limited queue holds only jobs with slots: what came into it before the limit has none, and claims need not walk it.

alter table holdfast.queue
  add column cleared boolean not null default true;      -- false from the limit until a sweep has found no job without a slot
