-- guard: what a job is called does not change once it has ended
-- dies: tests/sql/test_moves.py::test_a_terminal_job_never_changes_again
select pg_temp.without('holdfast.guard_stay', $guard$new.came_from := null;
    -- Compared$guard$, $instead$new.came_from := null;
    old.label := new.label;
    -- Compared$instead$);
