select count(*)
  from holdfast.job j
 where j.id >= %(first)s::uuid and j.id <= %(last)s::uuid
