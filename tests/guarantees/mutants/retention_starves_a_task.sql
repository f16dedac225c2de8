-- guard: retention gets to every task, whatever is left of the others
-- dies: tests/sql/test_upkeep.py::test_a_task_of_which_there_is_always_more_keeps_no_others_from_their_turn
select pg_temp.without('holdfast.apply_retention', 'order by random()', 'order by t.name');
