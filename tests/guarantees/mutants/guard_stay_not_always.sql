-- guard: guard_stay also holds for a replica
-- dies: tests/guarantees/test_history.py::test_counters_change_only_with_the_status[replica]
alter table holdfast.job enable trigger guard_stay;
