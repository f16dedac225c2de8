-- guard: a chunk of an operation is dealt with once
-- dies: tests/service/test_bulk.py::test_a_chunk_that_is_run_again_says_what_came_of_it_the_first_time
select pg_temp.without('holdfast.run_chunk', 'v_chunk.finished_at is null', 'true');
