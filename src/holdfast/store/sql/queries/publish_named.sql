-- Cast to text first: a connection may have a JSON codec of its own, which would write the document a second time.
select holdfast.publish(cast(:channel as text), cast(:kind as text), cast(cast(:data as text) as jsonb))
