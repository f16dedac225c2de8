-- guard: what was decided also stays for a replica
-- dies: tests/sql/test_approvals.py::test_what_was_asked_and_decided_never_changes
alter table holdfast.approval enable trigger approval_is_decided_once;
