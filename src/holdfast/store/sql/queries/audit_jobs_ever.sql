-- How many jobs there have ever been, as far as they were counted.
select coalesce(sum(t.entered::numeric - t.departed), 0) from holdfast.tally t
