-- guard: an operation finds each of its jobs by an index, also by a plan from when there were few
-- dies: tests/sql/test_bulk.py::test_a_chunk_reads_its_own_jobs_also_with_plans_from_when_there_were_few[reprioritise]
alter function holdfast.operate(holdfast.operation, uuid) reset all;
alter function holdfast.operate(holdfast.operation, uuid) set search_path = pg_catalog, holdfast, pg_temp;
