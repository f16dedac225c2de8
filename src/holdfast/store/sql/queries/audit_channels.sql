-- G04, channels: the newest id that was given is that of the newest event, as long as events are kept. The other way round, whether the
-- channel of an event is known, is asked where the feed is walked (audit_feed.sql): here all of it would be read at once.
select 'G04' as code, null::uuid as job_id, format('channel %%s has given the id %%s, and its newest event has %%s', c.name, c.last_id, coalesce(f.id::text, 'none')) as what
  from holdfast.channel c
  cross join holdfast.projection p
  left join lateral (select f.id from holdfast.feed f where f.channel = c.name order by f.id desc limit 1) as f on true
 where f.id > c.last_id
    or (coalesce(f.id, p.channel_floor) < c.last_id and c.last_at > holdfast.clock() - greatest(least(p.feed_kept, interval '9999 days'), interval '0') + interval '1 day')
union all
-- Before the calendar's beginning upkeep ends with an error, and forgets nothing any more; with less than nothing it forgets what is new.
select 'G04', null, format('events are to be kept for %%s (feed_kept of holdfast.projection), which is no time that anything can be kept for', p.feed_kept)
  from holdfast.projection p
 where p.feed_kept not between interval '0' and interval '6000 years'
