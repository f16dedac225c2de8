select t.name, t.weight
  from holdfast.tenant t
 order by t.name
