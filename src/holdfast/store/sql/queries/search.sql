-- Looks at jobs from the newest on, no further than a bound, and finds those that fit; says where it stopped when it did.
with choice as materialized (
  select {choice} as way),
looked as materialized (
  {ways}),
found as materialized (
  select l.* from looked l where l.fits limit %(limit)s)
select {answer}
