-- How many jobs there have ever been, as far as they were counted.
select coalesce(sum(t.entered - t.departed), 0)::bigint from holdfast.tally t
