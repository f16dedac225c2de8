-- guard: what an end counts for is read with the wait in hand
-- dies: tests/sql/test_waiting.py::test_an_end_that_comes_while_who_waited_turns_to_others_does_not_count
select pg_temp.without('holdfast.tell_followers', 'perform from holdfast.wait w
    where', 'perform from holdfast.wait w
    where false and');
