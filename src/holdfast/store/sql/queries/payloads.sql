-- What these jobs were given, for columns of a list: no payload that a list has no room for.
select j.id, case when pg_column_size(j.payload) <= %(largest)s then j.payload end, j.metadata,
       (select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload) from holdfast.task t where t.name = j.task and t.options ? 'redact')
  from holdfast.job j
 where j.id = any (%(ids)s)
