-- guard: a birth is the first row of a history
-- dies: tests/guarantees/test_fence.py::test_a_stale_completion_is_refused_while_another_attempt_runs
drop trigger record_births on holdfast.job;
