-- Held to the end of the transaction, so that it works behind a pooler too.
select pg_advisory_xact_lock(hashtextextended('holdfast:migrate', 0))
