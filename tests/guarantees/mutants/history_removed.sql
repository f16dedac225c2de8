-- guard: history is removed by retention only
-- dies: tests/sql/test_history.py::test_history_is_append_only
do $$ declare t regclass; begin for t in select tgrelid::regclass from pg_trigger where tgname = 'history_is_kept' and tgparentid = 0 loop execute format('drop trigger history_is_kept on %s', t); end loop; end $$;
