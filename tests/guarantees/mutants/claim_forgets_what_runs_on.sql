-- guard: a worker says with each claim of a suspect what runs on beside it
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_not_charged_for_what_may_have_run_on_beside_it
select pg_temp.without('holdfast.claim_suspect', 'set runs_on = p_runs_on', 'set runs_on = w.runs_on');
