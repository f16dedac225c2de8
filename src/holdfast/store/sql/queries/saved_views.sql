select v.name, v.owner is null, v.search, v.columns, v.reach, v.saved_by, v.saved_at
  from holdfast.saved_view v
 where v.tenant is not distinct from %(tenant)s
   and (v.owner is null or v.owner = %(owner)s)
 order by v.owner is null, v.name
