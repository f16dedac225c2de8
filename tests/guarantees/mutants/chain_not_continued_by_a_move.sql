-- guard: whatever moves a job links its chain
-- dies: tests/sql/test_chain.py::test_a_history_ends_in_the_head_on_its_jobs_row
select pg_temp.without('holdfast.guard_move', $guard$new.chain := holdfast.linked($guard$, $guard$perform holdfast.linked($guard$);
