-- guard: two payloads have one key only if each field that counts is the same in both
-- dies: tests/sql/test_key_properties.py::test_two_payloads_have_one_key_only_if_they_are_equal_in_every_field_that_counts
create or replace function holdfast.key_of(p_payload jsonb, p_fields jsonb) returns text
language sql immutable parallel safe
return 'payload:' || encode(sha256(convert_to(
    case when jsonb_array_length(p_fields) = 0 then p_payload::text
         else (select string_agg(p_payload ->> f, ',' order by f) from jsonb_array_elements_text(p_fields) as f)
    end, 'UTF8')), 'hex');
