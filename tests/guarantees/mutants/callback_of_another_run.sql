-- guard: of two runs for one attempt the first to report wins
-- dies: tests/sql/test_callback.py::test_of_two_runs_for_one_attempt_the_first_to_report_wins
select pg_temp.without('holdfast.judge_callback', $guard$    when p_run.run_id is not null and p_run_id is not null and p_run.run_id <> p_run_id then 'other_run'
$guard$);
