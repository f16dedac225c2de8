-- guard: attempts: what is written is never changed
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
drop trigger attempt_is_append_only on holdfast.attempt;
