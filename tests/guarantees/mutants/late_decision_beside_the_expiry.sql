-- guard: who decides too late settles the expiry, and nothing besides
-- dies: tests/sql/test_approval_races.py::test_of_a_decision_and_the_clock_exactly_one_counts
-- strikes: 1000
select pg_temp.without('holdfast.open_approval', $guard$perform holdfast.settle_expiry(v_gate);
    select * into v_gate from holdfast.approval a where a.id = p_approval;$guard$, $instead$perform holdfast.settle_expiry(v_gate);$instead$);
