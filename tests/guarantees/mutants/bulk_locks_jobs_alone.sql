-- guard: who changes several jobs locks what they hold of limits before it touches one
-- dies: tests/sql/test_change_races.py::test_two_operations_whose_jobs_hold_what_each_others_waiters_need_do_not_deadlock
select pg_temp.without('holdfast.lock_jobs', 'order by s.job_id, s.key
      for update;', 'order by s.job_id, s.key;');
