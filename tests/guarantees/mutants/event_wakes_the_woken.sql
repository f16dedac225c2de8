-- guard: an event lets nobody go on who has been let go already
-- dies: tests/sql/test_waiting.py::test_an_event_lets_nobody_go_on_who_has_been_let_go_already
select pg_temp.without('holdfast.emit', $guard$and j.due_at is not distinct from w.until$guard$);
