-- guard: the end of a job takes the waits of those who run after it in the order of their ids
-- dies: tests/sql/test_after.py::test_two_ends_that_the_same_jobs_wait_for_do_not_deadlock_in_whatever_order_those_name_them
select pg_temp.without('holdfast.tell_followers', $guard$order by d.job_id),
  counted as$guard$, $guard$order by min(d.position)),
  counted as$guard$);
select pg_temp.without('holdfast.tell_followers', $guard$order by f.job_id for no key update of w$guard$, $guard$for no key update of w$guard$);
select pg_temp.without('holdfast.tell_followers', $guard$order by w.job_id
      for no key update$guard$, $guard$order by (select d.position from holdfast.dependency d where d.job_id = w.job_id and d.needs = any (p_ids) limit 1)
      for no key update$guard$);
