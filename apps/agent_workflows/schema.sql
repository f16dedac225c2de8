-- The control plane's own table. What its agents do is in Holdfast's: a job a goal, with its history.

create table if not exists agent_workflows.agent (
  id                  text primary key,
  max_retries         int not null,
  backoff_base        float8 not null,
  backoff_multiplier  float8 not null,
  backoff_max         float8 not null,
  backoff_jitter      boolean not null,
  approvers           text[] not null,
  approval_expires_in float8                 -- seconds; null: people may take their time
);
