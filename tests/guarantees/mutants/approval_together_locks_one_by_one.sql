-- guard: approvals that are given together lock all their jobs before one is decided
-- dies: tests/sql/test_change_races.py::test_approvals_given_together_do_not_deadlock_with_what_frees_and_takes_slots
select pg_temp.without('holdfast.approve_together',
  'perform holdfast.lock_jobs(array(select a.job_id from holdfast.approval a where a.id = any (p_approvals)));', '');
