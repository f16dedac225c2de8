select nth, job_id, created
  from holdfast.enqueue_many(cast(:jobs as jsonb), cast(:declared as jsonb))
