-- guard: a deletion opens the way for its own job only
-- dies: tests/sql/test_changes.py::test_a_deletion_leaves_the_door_closed_behind_it
select pg_temp.without('holdfast.take_away', 'perform set_config(''holdfast.retention'', '''', true);', 'null;');
