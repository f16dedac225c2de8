-- guard: a suspect is not charged where something ran on beside it
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_not_charged_for_what_may_have_run_on_beside_it
select pg_temp.without('holdfast.return_jobs', 'not w.runs_on and ', '');
