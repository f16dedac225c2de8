-- guard: the history names the approval that the job was let go by
-- dies: tests/sql/test_approvals.py::test_the_history_names_the_approval_that_was_decided_though_the_clock_was_set_back
select pg_temp.without('holdfast.told_of_decision', 'a.attempt desc', 'a.asked_at desc');
