-- guard: an edit of a schedule begins with what the edit before it has left
-- dies: tests/sql/test_schedules.py::test_an_edit_leaves_what_another_edit_changed_meanwhile
select pg_temp.without('holdfast.find_schedule', $guard$for no key update$guard$);
