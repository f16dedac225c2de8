-- guard: a callback is one of five actions
-- dies: tests/sql/test_callback.py::test_an_unknown_action_is_refused
select pg_temp.without('holdfast.callback', $guard$p_action is null or p_action not in ('started', 'heartbeat', 'progress', 'completed', 'failed')$guard$, $guard$p_action is null$guard$);
