-- guard: two long keys of limits that begin alike are two
-- dies: tests/sql/test_key_properties.py::test_a_limits_key_is_filled_as_a_reader_letter_by_letter_fills_it
select pg_temp.without('holdfast.filled_key', $guard$left(k.key, 400) || ':' || md5(k.key)$guard$, $guard$left(k.key, 500)$guard$);
