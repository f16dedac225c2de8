select holdfast.publish(cast(:channel as text), cast(:kind as text), cast(cast(:data as text) as jsonb))
