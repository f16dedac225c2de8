-- guard: an event and a wait for it never miss each other
-- dies: tests/guarantees/test_races.py::test_an_event_and_a_wait_for_it_never_miss_each_other
-- strikes: 1000
select pg_temp.without('holdfast.wait_for_event', $guard$perform holdfast.lock_event(p_event);$guard$, '');
