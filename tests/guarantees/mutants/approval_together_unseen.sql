-- guard: each approval that is given together is bound to what was seen of it
-- dies: tests/dashboard/test_approvals.py::test_what_has_changed_since_it_was_ticked_is_not_approved
select pg_temp.without('holdfast.approve_together', 'p_reason, p_origin, v_seen_hash)', 'p_reason, p_origin, null)');
