-- guard: an event counts nobody who is cancelled meanwhile
-- dies: tests/sql/test_waiting.py::test_an_event_counts_nobody_who_is_cancelled_meanwhile
select pg_temp.without('holdfast.emit', $guard$
             for no key update of j$guard$);
