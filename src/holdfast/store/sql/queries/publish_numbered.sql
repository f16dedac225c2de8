-- Cast to text first: a connection may have a JSON codec of its own, which would write the document a second time.
select holdfast.publish($1, $2, $3::text::jsonb)
