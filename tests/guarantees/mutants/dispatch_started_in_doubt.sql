-- guard: a call that may have been obeyed is looked for, not made again
-- dies: tests/sql/test_dispatch.py::test_a_failed_call_is_tried_again_and_looked_for_first_when_it_may_have_been_obeyed[True-find]
select pg_temp.without('holdfast.take_dispatches', $guard$when due.doubtful then 'find' $guard$);
