-- guard: nobody waits for upkeep while it measures what tenants take
-- dies: tests/sql/test_upkeep.py::test_nobody_waits_for_upkeep_while_it_does_what_takes_long[storage]
select pg_temp.without('holdfast.keep_up', $guard$perform holdfast.measure_storage();$guard$, $guard$perform holdfast.ensure_history_partitions();
  perform holdfast.measure_storage();$guard$);
