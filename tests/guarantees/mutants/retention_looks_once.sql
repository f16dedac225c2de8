-- guard: retention leaves alone what somebody tied a job to while it looked
-- dies: tests/sql/test_upkeep.py::test_retention_leaves_alone_what_somebody_ties_itself_to_while_it_looks
select pg_temp.without('holdfast.apply_retention', 'where not holdfast.is_needed(j.id, j.parent_id)');
