-- guard: a job fails at its third crash, and not before
-- dies: tests/guarantees/test_poison.py::test_exactly_the_poison_pills_fail
-- pace: slow
select pg_temp.without('holdfast.settle', $guard$j.crash_count + 1 < coalesce(t.crash_cap, 3)$guard$, $instead$j.crash_count + 1 < 2$instead$);
