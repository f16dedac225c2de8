-- guard: a repeat after a lost answer saves what is new
-- dies: tests/sql/test_logs.py::test_a_repeat_after_a_lost_answer_saves_what_is_new_and_nothing_twice
select pg_temp.without('holdfast.save_logs', $guard$where o.first + e.place > k.kept$guard$, $guard$$guard$);
