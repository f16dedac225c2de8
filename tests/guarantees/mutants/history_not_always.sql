-- guard: history is append-only for a replica too
-- dies: tests/guarantees/test_history.py::test_every_partition_of_the_history_is_append_only_by_itself
do $$
declare
  v_part regclass;
begin
  for v_part in select inhrelid::regclass from pg_inherits where inhparent = 'holdfast.job_history'::regclass loop
    execute format('alter table %s enable trigger history_is_append_only', v_part);
  end loop;
end $$;
