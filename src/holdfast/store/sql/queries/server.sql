select current_setting('server_version_num')::int, current_setting('server_version'), session_user::text,
       r.rolsuper, clock_timestamp(), to_regnamespace('holdfast') is not null
  from pg_roles r
 where r.rolname = session_user
