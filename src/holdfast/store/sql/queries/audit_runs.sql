-- What became of a schedule's times behind a moment, in their order; the first may be one that began before it. What a person ran is
-- never a whole second.
select r.slot, r.last_slot
  from holdfast.schedule_run r
 where r.schedule = %(schedule)s
   and r.slot >= coalesce((select max(b.slot) from holdfast.schedule_run b where b.schedule = %(schedule)s and b.slot <= %(after)s
                             and b.slot = date_trunc('second', b.slot)), %(after)s)
   and r.slot = date_trunc('second', r.slot)
 order by r.slot
 limit %(runs)s
