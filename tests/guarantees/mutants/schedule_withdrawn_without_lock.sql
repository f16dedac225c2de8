-- guard: a schedule is not withdrawn while somebody declares it
-- dies: tests/sql/test_schedules.py::test_a_schedule_is_not_withdrawn_while_somebody_declares_it
select pg_temp.without('holdfast.due_schedules', $guard$for no key update skip locked) as l$guard$, $guard$) as l$guard$);
