-- guard: a wait whose time is up is over, and is not waited again
-- dies: tests/sql/test_model.py::test_whatever_happens_to_jobs_the_machine_does_what_its_model_does
select pg_temp.without('holdfast.wait_for_event', 'v_event.id is null and coalesce(v_until <= v_now, false)', 'false');
