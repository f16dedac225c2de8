-- guard: what became of a time never changes
-- dies: tests/sql/test_schedules.py::test_what_became_of_a_time_never_changes
alter table holdfast.schedule_run enable trigger schedule_run_is_append_only;
