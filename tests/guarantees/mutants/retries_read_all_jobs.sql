-- guard: a retry looks its jobs up by an index, also by a plan from when there were few
-- dies: tests/sql/test_bulk.py::test_a_chunk_of_retries_does_not_read_all_jobs_for_each_of_them
alter function holdfast.retry(uuid, text, text, uuid) reset all;
alter function holdfast.retry(uuid, text, text, uuid) set search_path = pg_catalog, holdfast, pg_temp;
