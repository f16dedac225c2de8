select c.name::text, c.kind
  from holdfast.alert_channel c
 order by c.name
