-- For one transaction: an end to every statement, and plans for the range that is asked about and not for any.
select set_config('statement_timeout', %(milliseconds)s, true), set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('jit', 'off', true)
