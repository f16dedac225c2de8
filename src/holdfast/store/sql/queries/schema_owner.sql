select n.nspowner::regrole::text
  from pg_namespace n
 where n.nspname = 'holdfast' and to_regclass('holdfast.installed') is not null
