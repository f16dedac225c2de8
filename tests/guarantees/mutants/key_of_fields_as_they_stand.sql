-- guard: a key is the same in whatever order its fields are named, and whether one of them is missing or null
-- dies: tests/sql/test_key_properties.py::test_a_payload_has_one_key_however_it_is_written
create or replace function holdfast.key_of(p_payload jsonb, p_fields jsonb) returns text
language sql immutable parallel safe
return 'payload:' || encode(sha256(convert_to(
    case when jsonb_array_length(p_fields) = 0 then p_payload::text
         else (select json_object_agg(f, p_payload -> f)::text from jsonb_array_elements_text(p_fields) as f where p_payload ? f)
    end, 'UTF8')), 'hex');
