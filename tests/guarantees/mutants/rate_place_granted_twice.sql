-- guard: of two that admit at once one is at the places of a rate
-- dies: tests/sql/test_rates.py::test_two_that_admit_at_once_do_not_grant_one_place_twice
select pg_temp.without('holdfast.free_rate_slot', $guard$
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:rate:' || p_key, 0)) then
    return null;
  end if;$guard$);
