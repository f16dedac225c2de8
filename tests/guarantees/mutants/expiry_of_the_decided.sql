-- guard: the clock leaves alone what was decided meanwhile
-- dies: tests/sql/test_approval_races.py::test_the_clock_leaves_alone_what_is_decided_while_it_settles_another
select pg_temp.without('holdfast.expire_approvals', $guard$a.id = v_id and a.decided_at is null$guard$, $guard$a.id = v_id$guard$);
