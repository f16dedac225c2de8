-- Which delivery wrote down a job as its own: for the auditor, who asks it of slices of jobs.

-- Only what was replayed writes its jobs down, so the index is small, and an event that is handled once costs nothing more. Nothing else
-- leads from a job to such a delivery: it may have been replayed at any time after the job was born.
create index webhook_delivery_of_job on holdfast.webhook_delivery using gin (jobs)
  where jobs <> '{}';                                                                            -- audit
