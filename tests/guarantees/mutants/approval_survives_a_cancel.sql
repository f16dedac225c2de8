-- guard: a cancelled job asks nobody any more
-- dies: tests/sql/test_approvals.py::test_a_cancelled_job_asks_nobody_any_more
select pg_temp.without('holdfast.follow_up', $guard$    perform holdfast.close_approvals(v_ids);$guard$);
