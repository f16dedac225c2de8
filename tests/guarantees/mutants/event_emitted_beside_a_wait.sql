-- guard: an event waits for who is about to wait for it
-- dies: tests/guarantees/test_races.py::test_an_event_and_a_wait_for_it_never_miss_each_other
-- strikes: 1000
select pg_temp.without('holdfast.emit', $guard$perform holdfast.lock_event(p_name);$guard$, '');
