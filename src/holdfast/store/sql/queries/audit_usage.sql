-- What usage says, by tenant. Days that no calendar has are brought to its ends, and what is no number below all numbers: there both are found.
select least(greatest(u.day, date '0001-01-01'), date '9999-12-31'), u.tenant, u.task, u.enqueued, u.runs, u.completed, u.failed, u.cancelled, u.retried,
       u.attempts, coalesce(nullif(u.run_seconds, 'NaN'), -1)
  from holdfast.usage u
