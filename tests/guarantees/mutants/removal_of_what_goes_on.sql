-- guard: retention removes what has ended only
-- dies: tests/sql/test_history.py::test_not_even_a_forged_retention_mark_removes_a_job_that_has_not_ended
select pg_temp.without('holdfast.guard_removal', $guard$if not holdfast.is_terminal(old.status) then$guard$, $guard$if false then$guard$);
