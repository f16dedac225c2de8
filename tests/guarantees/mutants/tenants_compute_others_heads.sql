-- guard: heads are computed of rows that their reader may read
-- dies: tests/sql/test_bounds.py::test_every_function_that_a_caller_may_call_looks_whose_a_thing_is
alter function holdfast.heads security definer;
