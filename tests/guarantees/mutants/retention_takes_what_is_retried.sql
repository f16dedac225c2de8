-- guard: retention leaves alone what is retried meanwhile
-- dies: tests/sql/test_upkeep.py::test_retention_leaves_alone_what_is_retried_meanwhile
select pg_temp.without('holdfast.apply_retention', $guard$
               for update skip locked$guard$);
