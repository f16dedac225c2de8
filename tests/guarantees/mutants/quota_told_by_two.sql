-- guard: of two that find a mark passed at once one tells it
-- dies: tests/sql/test_quotas.py::test_of_two_that_find_a_mark_passed_at_once_one_tells_it
select pg_temp.without('holdfast.judge_quotas', $guard$
       for no key update of q$guard$);
