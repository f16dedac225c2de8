-- What the minutes add up to, for days of which all are kept. Days that no calendar has are brought to its ends, where they are found.
select least(greatest((s.minute at time zone 'UTC')::date, date '0001-01-01'), date '9999-12-31') as day, s.task, sum(s.enqueued), sum(s.started),
       sum(s.completed), sum(s.failed), sum(s.cancelled), sum(s.retried)
  from holdfast.statistic s
 group by 1, 2
