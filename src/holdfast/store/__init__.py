"""Truth: the only code that knows PostgreSQL. Returns domain values, decides nothing."""
