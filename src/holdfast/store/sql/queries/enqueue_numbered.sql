-- Cast to text first: a connection may have a JSON codec of its own, which would write the document a second time.
select nth, job_id, created
  from holdfast.enqueue_many($1::text::jsonb, $2::text::jsonb)
