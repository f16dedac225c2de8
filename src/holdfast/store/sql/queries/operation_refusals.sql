select (r.one ->> 'job')::uuid, r.one ->> 'why'
  from holdfast.operation_chunk c
 cross join lateral jsonb_array_elements(c.refusals) as r (one)
 where c.operation_id = %(id)s and c.skipped > 0 and (r.one ->> 'job')::uuid > %(after)s
 order by 1
 limit %(limit)s
