-- guard: a completion links since when the job ran
-- dies: tests/sql/test_chain.py::test_what_workers_do_is_chained_as_it_is_told
select pg_temp.without('holdfast.complete', $guard$holdfast.linked(j.chain, j.started_at,$guard$, $guard$holdfast.linked(j.chain, null,$guard$);
