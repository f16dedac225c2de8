-- What usage says, and what the minutes of the days that are wholly kept add up to; usage is by tenant, the minutes are not.
select u.day, u.tenant, u.task, u.enqueued, u.runs, u.completed, u.failed, u.cancelled, u.retried, u.attempts, u.run_seconds
  from holdfast.usage u
