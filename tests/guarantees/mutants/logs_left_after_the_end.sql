-- guard: what was saved while an attempt ran goes with its end
-- dies: tests/sql/test_logs.py::test_the_end_brings_all_lines_and_each_is_there_once
select pg_temp.without('holdfast.forget_log_parts', $guard$a.logs is not null$guard$, $guard$false$guard$);
