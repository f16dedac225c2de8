-- guard: a repeated enqueue is known by its id
-- dies: tests/guarantees/test_lost_answers.py::test_an_enqueue_whose_answer_is_lost_makes_one_job[cut_after]
select pg_temp.without('holdfast.wanted', $guard$coalesce(w.id, holdfast.new_id())$guard$, $guard$holdfast.new_id()$guard$);
