select holdfast.emit(cast(:event as text), cast(cast(:payload as text) as jsonb), cast(:tenant as text), cast(:actor as text))
