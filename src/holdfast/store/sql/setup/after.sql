-- After every migration: partitions for the months to come, and statistics that fit the new tables.
do $$
begin
  set local search_path = pg_catalog, holdfast, pg_temp;
  if (select n.nspowner::regrole::text <> current_user from pg_namespace n where n.nspname = 'holdfast') then
    execute format('set local role %s', (select n.nspowner::regrole from pg_namespace n where n.nspname = 'holdfast'));
  end if;
  perform from holdfast.upkeep u for update;   -- one at a time, with upkeep and with other migrators
  perform holdfast.ensure_history_partitions();
  analyze holdfast.job, holdfast.job_history, holdfast.task, holdfast.queue, holdfast.worker, holdfast.attempt;
end $$;
