-- guard: attempts: nobody truncates what is written
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
drop trigger attempt_is_not_truncated on holdfast.attempt;
