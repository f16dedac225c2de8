-- guard: a result is not rewritten in another notation
-- dies: tests/sql/test_moves.py::test_a_result_is_not_rewritten_in_another_notation
select pg_temp.without('holdfast.guard_stay', $guard$new *<> old$guard$, $guard$new is distinct from old$guard$);
