-- guard: an attempt that handed its job over does not fail it
-- dies: tests/sql/test_dispatch.py::test_the_worker_that_handed_a_job_over_can_neither_complete_nor_fail_it
select pg_temp.without('holdfast.settle', $guard$ and j.holder is not distinct from p_worker$guard$, '');
