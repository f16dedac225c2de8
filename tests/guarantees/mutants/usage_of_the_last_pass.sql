-- guard: the usage of a day is added up over all passes
-- dies: tests/sql/test_project.py::test_usage_adds_up_exactly_to_the_history
select pg_temp.without('holdfast.project_slice', $guard$runs = u.runs + excluded.runs$guard$, $instead$runs = excluded.runs$instead$);
