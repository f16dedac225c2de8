-- guard: a sweep respects the lease
-- dies: tests/guarantees/test_fence.py::test_a_sweep_leaves_a_worker_alone_that_was_heard_within_its_lease
select pg_temp.without('holdfast.sweep', $guard$ + w.lease <$guard$, $guard$ <$guard$);
