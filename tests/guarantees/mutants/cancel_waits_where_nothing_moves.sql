-- guard: a cancel of a job that has ended waits for nobody who ran after it
-- dies: tests/sql/test_waiting.py::test_a_cancel_that_moves_nothing_waits_for_nobody[cancel]
select pg_temp.without('holdfast.moved_with', '(p_ended or j.finished_at is null) and ');
