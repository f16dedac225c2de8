-- guard: the children that a killed attempt enqueued are those of the next
-- dies: tests/guarantees/test_flows.py::test_a_flow_goes_to_its_end_wherever_its_workers_are_killed
-- pace: slow
select pg_temp.without('holdfast.saved_steps', $guard$where s.job_id = p_job$guard$, $instead$where s.job_id = p_job and s.kind <> 'children'$instead$);
select pg_temp.without('holdfast.enqueue_children', $guard$s.job_id = p_job and s.name = p_name$guard$, $instead$false$instead$);
select pg_temp.without('holdfast.enqueue_children', $guard$p_importance);
  return$guard$, $instead$p_importance)
  on conflict do nothing;
  return$instead$);
