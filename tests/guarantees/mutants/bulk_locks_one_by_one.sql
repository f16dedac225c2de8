-- guard: an operation locks all jobs of a chunk before it touches one
-- dies: tests/sql/test_change_races.py::test_two_operations_whose_jobs_wait_for_each_others_slots_do_not_deadlock
select pg_temp.without('holdfast.run_chunk', 'perform holdfast.lock_jobs(v_chunk.jobs, v_operation.tenant,
      case when v_operation.action = ''cancel'' then array(select m from holdfast.moved_with(v_chunk.jobs, v_operation.tenant) as m) end);', '');
