-- guard: upkeep says that it has left something
-- dies: tests/sql/test_upkeep.py::test_a_pass_says_whether_it_has_left_something
select pg_temp.without('holdfast.keep_up', 'p_limit <=', 'p_limit <');
