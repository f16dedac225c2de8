-- Running totals for monitoring: what the minutes say until they are forgotten, for ever.

-- How long jobs waited and ran, as histograms. A bucket is two doublings: the first is below a millisecond, the next below 4, 16 …
create table holdfast.duration (
  queue   text not null,
  task    text not null,
  what    text not null,
  bucket  smallint not null,
  count   bigint not null,
  seconds numeric(30, 6) not null,
  primary key (queue, task, what, bucket),
  constraint duration_is_known check (what in ('wait', 'run'))
) with (fillfactor = 50);
