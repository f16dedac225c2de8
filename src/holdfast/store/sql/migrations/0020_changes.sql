-- What else can be done to many jobs at once, and which approvals may be given together.

alter table holdfast.operation
  add column priority smallint,                          -- that its jobs get
  add column queue text;                                 -- that its jobs go to
-- Only to be put back wider: whoever counts on it writes what it still allows.
-- squawk-ignore ban-drop-constraint
alter table holdfast.operation drop constraint operation_action_is_known;
alter table holdfast.operation
  add constraint operation_action_is_known check (action in ('retry', 'cancel', 'reprioritise', 'move', 'delete')) not valid,
  add constraint operation_says_what_its_jobs_get check (
    (action = 'reprioritise') = (priority is not null) and (action = 'move') = (queue is not null)) not valid;
alter table holdfast.operation validate constraint operation_action_is_known;
alter table holdfast.operation validate constraint operation_says_what_its_jobs_get;

alter table holdfast.approval
  add column bulk boolean not null default false;        -- whether it may be approved together with others

create index activity_of_changes on holdfast.activity (xid)
  where kind in ('job.reprioritised', 'job.moved');                                              -- pulse
