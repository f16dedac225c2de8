-- guard: a repeated enqueue is known by its id
-- dies: tests/guarantees/test_lost_answers.py::test_an_enqueue_whose_answer_is_lost_makes_one_job[cut_after]
select pg_temp.without('holdfast.with_ids', $guard$jsonb_build_object('id', holdfast.new_id()) || one$guard$, $guard$one || jsonb_build_object('id', holdfast.new_id())$guard$);
select pg_temp.without('holdfast.enqueue_many', $guard$if p_jobs @? '$[*] ? (!exists(@.id))' then$guard$, 'if true then');
