-- guard: approvals: only retention removes what is written
-- dies: tests/sql/test_approvals.py::test_what_was_asked_and_decided_never_changes
drop trigger approval_is_kept on holdfast.approval;
