-- guard: the projection goes on while upkeep does what takes long
-- dies: tests/sql/test_upkeep.py::test_nobody_waits_for_upkeep_while_it_does_what_takes_long[rate_slot]
select pg_temp.without('holdfast.keep_up', $guard$forgotten := 0;$guard$, $guard$forgotten := 0;
  perform holdfast.forget_projected(p_limit);$guard$);
