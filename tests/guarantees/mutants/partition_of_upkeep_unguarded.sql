-- guard: a month that upkeep makes is guarded like the first
-- dies: tests/sql/test_history.py::test_a_month_made_by_upkeep_is_guarded_like_the_first
select pg_temp.without('holdfast.ensure_history_partition', $guard$perform holdfast.guard_history_partition(('holdfast.' || v_name)::regclass);$guard$, '');
