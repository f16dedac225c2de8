-- guard: an event is emitted once though its answer was lost
-- dies: tests/sql/test_repeats.py::test_an_event_is_emitted_once
select pg_temp.without('holdfast.emit', $guard$where e.token = p_token$guard$, $guard$where false$guard$);
alter table holdfast.event drop constraint event_token_key;
