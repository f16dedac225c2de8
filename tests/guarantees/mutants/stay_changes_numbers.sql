-- guard: attempt, seq, claim, counters, times and chain change only with the status
-- dies: tests/sql/test_rules.py::test_the_numbers_of_a_job_change_only_with_its_status
select pg_temp.without('holdfast.guard_stay', $guard$raise exception 'job %: attempt, seq, claim, counters, times and chain change only with its status', old.id using errcode = 'HF001';$guard$, $guard$null;$guard$);
