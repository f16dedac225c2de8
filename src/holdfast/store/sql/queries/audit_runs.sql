-- What became of a schedule's times behind a moment, in their order, up to tomorrow at most; the first may be one that began before it.
-- What a person ran is never a whole second.
select greatest(r.slot, timestamptz '1970-01-01 00:00:00+00'), least(r.last_slot, w.latest)
  from holdfast.schedule_run r
  cross join (select holdfast.clock() + interval '1 day' as latest) as w
 where r.schedule = %(schedule)s
   and r.slot >= coalesce((select max(b.slot) from holdfast.schedule_run b where b.schedule = %(schedule)s and b.slot <= %(after)s
                             and b.slot = date_trunc('second', b.slot)), %(after)s)
   and r.slot <= w.latest
   and r.slot = date_trunc('second', r.slot)
 order by r.slot
 limit %(runs)s
