-- Schedules, and from where on each of their times must have its run: as long as they fire by what they fire by now, and as long as
-- runs are known, which is ninety days. A sample begins so many runs before the newest, at some schedules. Nothing is decided of days to
-- come (audit_slots.sql): times are computed up to tomorrow at most.
select s.name, s.cron, case when s.every is not null then least(s.every, interval '9999 days') end, s.tz, least(greatest(s.anchor, timestamptz '1970-01-01 00:00:00+00'), w.latest),
       least(greatest(s.counted_from, holdfast.clock() - interval '89 days',
                      (select r.slot from holdfast.schedule_run r
                        where r.schedule = s.name and %(newest)s::int is not null
                        order by r.slot desc
                       offset coalesce(%(newest)s::int, 0)
                        limit 1)), w.latest),
       least(greatest(s.settled_to, timestamptz '1970-01-01 00:00:00+00'), w.latest),
       case when s.paused_at is null and s.withdrawn_at is null and s.next_at is not null
            then least(greatest(s.next_at, timestamptz '1970-01-01 00:00:00+00'), timestamptz '9999-12-31 00:00:00+00') end
  from holdfast.schedule s
  cross join (select holdfast.clock() + interval '1 day' as latest) as w
 order by case when %(newest)s::int is not null then random() end, s.name
 limit %(schedules)s
