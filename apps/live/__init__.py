"""The products at work on one database, for as long as somebody watches them: what scripts/demo shows."""
