-- How long jobs waited and ran, in spans of equal length: the middle of the bucket that the percentile falls into. Over long
-- windows not every minute is read, so that a look costs the same however many days it spans.
with looked as (
  select date_bin(%(width)s::interval, m.minute, %(first)s::timestamptz) as at, t.what, t.bucket, sum(t.count) as n
    from generate_series(%(first)s::timestamptz, %(last)s::timestamptz - interval '1 minute', %(stride)s::interval) as m (minute)
   cross join lateral (
     select t.what, t.bucket, t.count
       from holdfast.timing t
      where t.minute = m.minute and t.what in ('wait', 'run')) as t
   group by 1, t.what, t.bucket),
placed as (
  select l.at, l.what, l.bucket, sum(l.n) over w as upto, sum(l.n) over (partition by l.at, l.what) as n
    from looked l
  window w as (partition by l.at, l.what order by l.bucket))
select p.at, p.what,
       holdfast.bucket_middle(min(p.bucket) filter (where p.upto >= 0.5 * p.n)),
       holdfast.bucket_middle(min(p.bucket) filter (where p.upto >= 0.95 * p.n))
  from placed p
 group by p.at, p.what
 order by p.at, p.what
