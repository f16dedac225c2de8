-- guard: a callback shows the claim that handed the job over
-- dies: tests/sql/test_callback.py::test_another_executors_job_is_not_to_be_found
select pg_temp.without('holdfast.callback', $guard$ and d.claim_id = p_claim_id$guard$);
