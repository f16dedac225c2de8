-- guard: a mark of another transaction lets nobody remove anything
-- dies: tests/sql/test_history.py::test_a_retention_mark_of_another_transaction_opens_nothing
select pg_temp.without('holdfast.guard_removal', $guard$current_setting('holdfast.retention', true) is distinct from pg_current_xact_id()::text$guard$, $guard$coalesce(current_setting('holdfast.retention', true), '') = ''$guard$);
