select nth, job_id, created
  from holdfast.enqueue_many($1::jsonb, $2::jsonb)
