select holdfast.publish(%s, %s, %s::jsonb)
