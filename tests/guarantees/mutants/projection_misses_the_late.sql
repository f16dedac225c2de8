-- guard: what was running when it was looked at is projected once it has committed
-- dies: tests/sql/test_project.py::test_a_transaction_held_open_across_many_passes_is_counted_when_it_commits
select pg_temp.without('holdfast.project', $guard$array(select x from unnest(holdfast.running_in(v_cursor.snapshot)) as x where x <> all (v_running))$guard$, $guard$'{}'$guard$);
