-- guard: the end of an awaited job waits for none that is about to wait for it again
-- dies: tests/sql/test_waiting.py::test_a_wait_that_is_asked_again_and_the_end_of_what_it_waits_for_do_not_deadlock
select pg_temp.without('holdfast.tell_followers', $guard$where j.status in ('PENDING', 'WAITING')
$guard$, $guard$where true
$guard$);
