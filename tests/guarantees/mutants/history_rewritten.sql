-- guard: history is never changed
-- dies: tests/sql/test_history.py::test_history_is_append_only
drop trigger history_is_append_only on holdfast.job_history;
