-- guard: who replaces a key that others replace too goes on until it is theirs
-- dies: tests/sql/test_keys.py::test_64_enqueues_of_one_key_at_once_leave_one_job[replace]
select pg_temp.without('holdfast.settle_conflict', $guard$in 1..100 loop$guard$, $guard$in 1..1 loop$guard$);
