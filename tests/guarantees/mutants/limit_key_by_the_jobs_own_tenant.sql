-- guard: a field of the payload comes before the job's own tenant or subject in the key of a limit
-- dies: tests/sql/test_key_properties.py::test_a_limits_key_is_filled_as_a_reader_letter_by_letter_fills_it
select pg_temp.without('holdfast.filled_key', $guard$coalesce(p_payload ->> btrim(part[1], '{}'),$guard$, $guard$coalesce($guard$);
select pg_temp.without('holdfast.filled_key', $guard$end, '')$guard$, $guard$end, p_payload ->> btrim(part[1], '{}'), '')$guard$);
