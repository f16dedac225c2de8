-- guard: no login role removes rows
-- dies: tests/sql/test_rights.py::test_no_role_writes_or_changes_any_table
grant delete, truncate on holdfast.job_history to holdfast_maint;
