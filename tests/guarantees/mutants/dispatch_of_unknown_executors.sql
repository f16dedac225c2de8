-- guard: a worker takes only calls that it can make
-- dies: tests/sql/test_dispatch.py::test_a_worker_takes_only_calls_of_executors_it_knows
select pg_temp.without('holdfast.take_dispatches', $guard$ and d.executor = any (p_executors)$guard$);
