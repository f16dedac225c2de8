-- guard: who takes jobs from a flag locks them or looks again
-- dies: tests/sql/test_switches.py::test_a_job_that_is_cancelled_while_its_task_leaves_its_flag_stays_cancelled
select pg_temp.without('holdfast.leave_flags', $guard$
             order by p.id
               for no key update$guard$);
select pg_temp.without('holdfast.leave_flags', $guard$ and j.held_by like 'flag:%'$guard$);
