-- Schedules, and from where on each of their times must have its run: as long as they fire by what they fire by now, and as long as
-- runs are known, which is ninety days. A sample begins so many runs before the newest, at some schedules.
select s.name, s.cron, s.every, s.tz, s.anchor,
       greatest(s.counted_from, holdfast.clock() - interval '89 days',
                (select r.slot from holdfast.schedule_run r
                  where r.schedule = s.name and %(newest)s::int is not null
                  order by r.slot desc
                 offset coalesce(%(newest)s::int, 0)
                  limit 1)),
       s.settled_to,
       case when s.paused_at is null and s.withdrawn_at is null and s.next_at is not null then least(s.next_at, timestamptz '9999-12-31 00:00:00+00') end
  from holdfast.schedule s
 order by case when %(newest)s::int is not null then random() end, s.name
 limit %(schedules)s
