-- guard: what a living worker declares is not withdrawn
-- dies: tests/sql/test_schedules.py::test_a_schedule_is_withdrawn_when_the_last_worker_that_declares_it_is_gone
select pg_temp.without('holdfast.undeclared_schedules', $guard$w.seen_at + w.lease >= p_now and s.name = any (w.schedules)$guard$, $guard$false$guard$);
