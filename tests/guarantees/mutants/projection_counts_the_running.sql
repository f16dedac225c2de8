-- guard: what has not committed is projected later, and once
-- dies: tests/sql/test_project.py::test_what_the_projecting_transaction_itself_wrote_is_projected_by_a_later_pass
select pg_temp.without('holdfast.project_slice', $guard$ and h.xid <> all (p_running)$guard$, '');
