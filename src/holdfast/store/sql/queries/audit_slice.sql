-- Where a slice of jobs ends.
select j.id::uuid
  from holdfast.job j
 where j.id >= %(first)s::uuid
 order by j.id
offset %(jobs)s
 limit 1
