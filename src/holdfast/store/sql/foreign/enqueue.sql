-- Cast to text first: a connection may have a JSON codec of its own, which would write the document a second time.
select nth, job_id, created
  from holdfast.enqueue_many(cast(cast(:jobs as text) as jsonb), cast(cast(:declared as text) as jsonb))
