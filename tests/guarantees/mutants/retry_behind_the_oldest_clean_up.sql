-- guard: a retry by hand waits for the clean-up that nobody has retried
-- dies: tests/sql/test_by_hand.py::test_a_clean_up_that_was_retried_on_a_machine_whose_clock_is_behind_counts_as_the_newest
select pg_temp.without('holdfast.retry', $guard$ and not exists (select from holdfast.job r where r.retry_of = j.id)$guard$, $guard$$guard$);
