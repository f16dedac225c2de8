-- guard: approvers: only retention removes what is written
-- dies: tests/sql/test_approvals.py::test_what_was_asked_and_decided_never_changes
drop trigger approver_is_kept on holdfast.approver;
