-- The name of the function that answers nothing is the answer: every library can read one row.
select holdfast.notify(cast(cast(:messages as text) as jsonb), cast(cast(:declared as text) as jsonb))::text
