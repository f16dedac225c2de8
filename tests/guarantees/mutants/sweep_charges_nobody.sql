-- guard: crashes suffered alone are capped
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_charged_for_the_death_of_a_worker_that_held_nothing_else
select pg_temp.without('holdfast.return_jobs', $guard$not h.said_goodbye as charged$guard$, $guard$false as charged$guard$);
