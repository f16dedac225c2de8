-- guard: a sweep ends no attempt that was finished and claimed anew while it waited
-- dies: tests/interleaving/test_interleavings.py::test_all_orders_of_two_operations_end_as_one_after_the_other[running-finish-sweep]
-- strikes: 100
select pg_temp.without('holdfast.return_jobs', $guard$for no key update of j skip locked$guard$, '');
select pg_temp.without('holdfast.return_jobs', $guard$and j.status = 'RUNNING' and j.claim_id = g.claim_id$guard$, '');
