-- guard: of two that run a chunk at once the second is told what became of it
-- dies: tests/sql/test_bulk.py::test_who_comes_for_a_chunk_that_is_being_run_is_told_what_became_of_it
select pg_temp.without('holdfast.run_chunk', $guard$c.nth = p_nth for update;$guard$, $guard$c.nth = p_nth;$guard$);
