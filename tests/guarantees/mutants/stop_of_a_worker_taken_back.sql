-- guard: a worker that was asked to stop is not asked otherwise by who looked before
-- dies: tests/sql/test_wishes.py::test_a_stop_is_not_taken_back_by_who_wished_otherwise_meanwhile
select pg_temp.without('holdfast.wish_of_worker', $guard$for no key update$guard$);
