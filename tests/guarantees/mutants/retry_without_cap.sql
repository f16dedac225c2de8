-- guard: retries by hand are capped
-- dies: tests/sql/test_by_hand.py::test_retries_by_hand_are_capped_along_the_chain
select pg_temp.without('holdfast.retry', $guard$if v_count >= v_task.manual_retries then$guard$, $guard$if false then$guard$);
