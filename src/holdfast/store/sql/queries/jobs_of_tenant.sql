select j.id
  from holdfast.job j
 where j.id = any (%(ids)s) and j.tenant = %(tenant)s
