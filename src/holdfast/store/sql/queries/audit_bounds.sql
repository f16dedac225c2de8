-- For one transaction: an end to every statement, plans for the range that is asked about and not for any, and definitions written in
-- one way, whatever the login's settings are.
select set_config('statement_timeout', %(milliseconds)s, true), set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('jit', 'off', true), set_config('search_path', 'pg_catalog', true), set_config('timezone', 'UTC', true),
       set_config('datestyle', 'ISO', true), set_config('intervalstyle', 'postgres', true)
