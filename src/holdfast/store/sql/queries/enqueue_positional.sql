select nth, job_id, created
  from holdfast.enqueue_many(%s::jsonb, %s::jsonb)
