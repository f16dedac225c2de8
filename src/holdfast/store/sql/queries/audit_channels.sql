-- G04, channels: the newest id that was given is that of the newest event, as long as events are kept. The other way round, whether the
-- channel of an event is known, is asked where the feed is walked (audit_feed.sql): here all of it would be read at once.
select 'G04' as code, null::uuid as job_id, format('channel %%s has given the id %%s, and its newest event has %%s', c.name, c.last_id, coalesce(f.id::text, 'none')) as what
  from holdfast.channel c
  cross join holdfast.projection p
  left join lateral (select f.id from holdfast.feed f where f.channel = c.name order by f.id desc limit 1) as f on true
 where f.id > c.last_id
    or (coalesce(f.id, p.channel_floor) < c.last_id and c.last_at > holdfast.clock() - p.feed_kept + interval '1 day')
