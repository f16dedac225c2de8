-- guard: a replica writes no history by hand either
-- dies: tests/sql/test_history.py::test_history_is_written_by_moves_only
do $$ declare t regclass; begin for t in select tgrelid::regclass from pg_trigger where tgname = 'history_is_written_by_moves' loop execute format('alter table %s enable trigger history_is_written_by_moves', t); end loop; end $$;
