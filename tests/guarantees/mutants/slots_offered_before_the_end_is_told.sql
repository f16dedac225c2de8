-- guard: who ends a job offers its slots when it waits for nobody any more
-- dies: tests/sql/test_waiting.py::test_the_end_of_a_child_that_others_wait_behind_and_a_cancel_of_its_parent_do_not_deadlock
select pg_temp.without('holdfast.follow_up', 'perform holdfast.compensate(v_ids);', 'perform holdfast.release_slots(v_ids);
    perform holdfast.compensate(v_ids);');
