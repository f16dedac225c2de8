-- guard: the fence holds the job until the transaction ends
-- dies: tests/sql/test_fences.py::test_who_has_shown_the_fence_keeps_the_job_until_the_transaction_ends
select pg_temp.without('holdfast.hold_fence', $guard$ for no key update$guard$, '');
