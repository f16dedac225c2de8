-- guard: who keeps what others wait for comes again once, and is told
-- dies: tests/sql/test_keys.py::test_who_holds_what_another_transaction_waits_for_is_told_soon
select pg_temp.without('holdfast.enqueue_many', 'then 5 else 2 end', 'then 5 else 10 end');
