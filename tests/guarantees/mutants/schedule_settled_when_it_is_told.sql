-- guard: a time that a killed worker was told of is still due
-- dies: tests/guarantees/test_schedules.py::test_no_time_of_a_schedule_is_lost_or_fires_twice_wherever_workers_are_killed
-- pace: slow
select pg_temp.without('holdfast.due_schedules', $guard$select extract(epoch from s.next_at - v_now) into next_in$guard$, $instead$update holdfast.schedule s set settled_to = v_now where s.name in (select d ->> 'name' from jsonb_array_elements(due) as d);
  select extract(epoch from s.next_at - v_now) into next_in$instead$);
select pg_temp.without('holdfast.fire_schedule', $guard$ and s.settled_to = p_settled_to$guard$, $instead$$instead$);
