-- guard: what is kept is kept from a replica too
-- dies: tests/sql/test_kept.py::test_what_is_written_down_stays
do $$ declare t record; begin for t in select tgrelid::regclass as r, tgname from pg_trigger where tgname ~ '_is_(kept|append_only|not_truncated)$' and tgrelid::regclass::text !~ 'job_history' loop execute format('alter table %s enable trigger %I', t.r, t.tgname); end loop; end $$;
