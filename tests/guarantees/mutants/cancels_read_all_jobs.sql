-- guard: a cancel finds its job by an index, also by a plan from when there were few
-- dies: tests/sql/test_bulk.py::test_a_change_reads_its_own_job_also_with_plans_from_when_there_were_few[cancel]
alter function holdfast.cancel(uuid, text, text) reset all;
alter function holdfast.cancel(uuid, text, text) set search_path = pg_catalog, holdfast, pg_temp;
