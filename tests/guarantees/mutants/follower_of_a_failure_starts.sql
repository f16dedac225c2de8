-- guard: what needs a job that is lost does not start unless it says so
-- dies: tests/sql/test_model.py::test_whatever_happens_to_jobs_the_machine_does_what_its_model_does
select pg_temp.without('holdfast.tell_followers', 'where d.policy = ''cancel''', 'where false');
