-- guard: every partition refuses TRUNCATE by itself
-- dies: tests/guarantees/test_history.py::test_every_partition_refuses_truncation[origin]
do $$
begin
  execute format('drop trigger history_is_not_truncated on holdfast.job_history_%s', to_char(now() at time zone 'UTC', 'YYYYMM'));
end $$;
