-- guard: save_logs writes for the attempt that runs now, and no other
-- dies: tests/sql/test_logs.py::test_nothing_is_saved_after_the_end
select pg_temp.without('holdfast.save_logs', $guard$j.status = 'RUNNING' and $guard$, $guard$$guard$);
select pg_temp.without('holdfast.save_logs', $guard$ and j.holder is not distinct from p_worker$guard$, $guard$$guard$);
