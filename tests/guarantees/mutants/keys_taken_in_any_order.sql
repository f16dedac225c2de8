-- guard: of several keys all calls take those that are free in one order
-- dies: tests/sql/test_keys.py::test_whatever_the_order_of_a_batch_is_its_keys_are_taken_in_one
select pg_temp.without('holdfast.try_to_enqueue', 'order by w.tenant, w.task, w.key, w.nth', 'order by w.nth');
