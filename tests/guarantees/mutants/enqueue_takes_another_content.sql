-- guard: an id belongs to one content
-- dies: tests/sql/test_enqueue.py::test_the_same_id_with_another_content_is_refused
select pg_temp.without('holdfast.settle_conflict', $guard$if v_old.task is distinct from p_wanted ->> 'task'$guard$, $guard$if false and v_old.task is distinct from p_wanted ->> 'task'$guard$);
