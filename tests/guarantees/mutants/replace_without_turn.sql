-- guard: of many who replace one key at once each waits its turn, or tries again
-- dies: tests/sql/test_keys.py::test_64_enqueues_of_one_key_at_once_leave_one_job[replace]
select pg_temp.without('holdfast.lock_replaced', $guard$perform pg_advisory_xact_lock(o.turn)$guard$, $guard$perform o.turn$guard$);
select pg_temp.without('holdfast.settle_conflict', $guard$in 1..10 loop$guard$, $guard$in 1..1 loop$guard$);
