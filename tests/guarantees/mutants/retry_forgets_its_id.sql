-- guard: a repeated retry is known by its id
-- dies: tests/guarantees/test_lost_answers.py::test_a_manual_retry_whose_answer_is_lost_makes_one_job[cut_after]
select pg_temp.without('holdfast.retry', $guard$v_new uuid := coalesce(p_new_id, holdfast.new_id())$guard$, $guard$v_new uuid := holdfast.new_id()$guard$);
select pg_temp.without('holdfast.retry', $guard$where j.retry_of = p_id;$guard$, $guard$where false;$guard$);
drop index holdfast.job_retried_once;
