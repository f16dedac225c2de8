-- guard: a batch that is repeated is known by the ids of its jobs
-- dies: tests/guarantees/test_lost_answers.py::test_3000_jobs_whose_commits_answer_is_lost_are_3000_jobs
select pg_temp.without('holdfast.with_ids', $guard$jsonb_build_object('id', holdfast.new_id()) || one$guard$, $instead$one || jsonb_build_object('id', holdfast.new_id())$instead$);
select pg_temp.without('holdfast.enqueue_many', $guard$if p_jobs @? '$[*] ? (!exists(@.id))' then$guard$, $instead$if jsonb_array_length(p_jobs) > 1 then$instead$);
