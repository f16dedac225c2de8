-- guard: a key has one job
-- dies: tests/guarantees/test_keys.py::test_64_concurrent_enqueues_of_one_key_make_one_job
drop index holdfast.job_key;
