-- guard: who is never done with retention does the rest of upkeep nevertheless
-- dies: tests/sql/test_upkeep.py::test_who_is_never_done_with_retention_does_the_rest_every_ten_minutes
select pg_temp.without('holdfast.keep_up', $guard$ and v_ran_at > holdfast.clock() - interval '10 minutes'$guard$);
