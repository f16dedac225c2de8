-- guard: a hand-over whose answer was lost is found again
-- dies: tests/sql/test_dispatch.py::test_a_hand_over_repeated_after_a_lost_answer_is_the_same_one
select pg_temp.without('holdfast.hand_over', $guard$    return v_id;
  end if;$guard$, $guard$    return holdfast.new_id();
  end if;$guard$);
