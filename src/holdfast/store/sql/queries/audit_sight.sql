-- Whether this login sees the sessions of others, and whether this server would notice a page that the disk gave back otherwise.
select pg_has_role('pg_read_all_stats', 'usage'), current_setting('data_checksums') = 'on'
