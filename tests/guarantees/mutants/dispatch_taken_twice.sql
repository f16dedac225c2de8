-- guard: while a call is being made nobody else makes it
-- dies: tests/sql/test_dispatch.py::test_a_call_is_taken_once_and_again_when_its_lease_has_ended
select pg_temp.without('holdfast.take_dispatches', $guard$next_try_at = v_now + make_interval(secs => p_lease)$guard$, $guard$next_try_at = d.next_try_at$guard$);
