-- guard: a line break in a subject begins another header
-- dies: tests/sql/test_alerts.py::test_a_subject_that_is_no_single_line_is_refused_by_the_database_itself
-- pace: quick
alter table holdfast.notification drop constraint notification_subject_is_one_line;
