-- guard: history is written by moves only
-- dies: tests/sql/test_history.py::test_history_is_written_by_moves_only
do $$ declare t regclass; begin for t in select tgrelid::regclass from pg_trigger where tgname = 'history_is_written_by_moves' and tgparentid = 0 loop execute format('drop trigger history_is_written_by_moves on %s', t); end loop; end $$;
