"""Durable jobs on PostgreSQL, with a state machine the database itself enforces."""
