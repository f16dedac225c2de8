-- guard: a FAILED job is retried by hand once
-- dies: tests/guarantees/test_keys.py::test_a_failed_job_is_retried_by_hand_once
drop index holdfast.job_retried_once;
select pg_temp.without('holdfast.retry', $guard$where j.retry_of = p_id;$guard$, $instead$where j.retry_of = p_id and j.id = p_new_id;$instead$);
