-- guard: save_logs shows the claim id
-- dies: tests/sql/test_logs.py::test_who_has_lost_the_job_saves_nothing
select pg_temp.without('holdfast.save_logs', $guard$ and j.claim_id = o.claim_id$guard$, $guard$$guard$);
